package github

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
)

type ref struct {
	Ref  string `json:"ref"`
	SHA  string `json:"sha"`
	Repo struct {
		Name string `json:"full_name"`
	} `json:"repo"` // empty of a fork that is gone
}

type pull struct {
	issue
	Draft     bool   `json:"draft"`
	Merged    bool   `json:"merged"`
	Mergeable string `json:"mergeable_state"`
	Head      ref    `json:"head"`
	Base      ref    `json:"base"`
	Added     int    `json:"additions"`
	Removed   int    `json:"deletions"`
	Files     int    `json:"changed_files"`
}

type review struct {
	User      user   `json:"user"`
	State     string `json:"state"`
	Body      string `json:"body"`
	Submitted string `json:"submitted_at"`
	URL       string `json:"html_url"`
}

// A Pull is the artifact pull_request.
type Pull struct {
	Repo   string `json:"repo"`
	Number int    `json:"number"`
	Title  string `json:"title"`
	State  string `json:"state"` // open, closed, merged
	Draft  bool   `json:"draft,omitempty"`
	Head   string `json:"head"`
	Base   string `json:"base"`
	SHA    string `json:"sha"`
	URL    string `json:"url"`
}

func (p *pull) artifact(repo string) Pull {
	return Pull{repo, p.Number, p.Title, p.state(), p.Draft, p.Head.Ref, p.Base.Ref, p.Head.SHA, p.URL}
}

func (p *pull) state() string {
	if p.Merged {
		return "merged"
	}
	return p.State
}

// pullInput is the input of the tools that look at one pull request.
type pullInput struct {
	Number int `json:"number,omitempty" jsonschema:"minimum=1,description=Default that of the current branch"`
	about
}

// pull finds the pull request with this number; 0 means the current branch's.
func (a *api) pull(ctx context.Context, number int) (*pull, error) {
	if number == 0 {
		s, err := git.New(a.env.Exec).Status(ctx)
		if err != nil {
			return nil, err
		}
		if s.Branch == "" {
			return nil, errors.New("no branch is checked out: give number")
		}
		found, err := a.ofBranch(ctx, s.Branch, "all")
		if err != nil {
			return nil, err
		}
		if found == nil {
			return nil, &noPullError{fmt.Errorf("%s has no pull request of the branch %s: give number", a.repo, s.Branch)}
		}
		number = found.Number
	}
	var p pull
	return &p, a.get(ctx, "pulls/"+strconv.Itoa(number), nil, &p)
}

// ofBranch is the newest pull request of a branch of the repository, nil if
// there is none.
func (a *api) ofBranch(ctx context.Context, branch, state string) (*pull, error) {
	owner, _, _ := strings.Cut(a.repo, "/")
	var all []pull
	q := url.Values{"head": {owner + ":" + branch}, "state": {state}, "sort": {"created"}, "direction": {"desc"}, "per_page": {"10"}}
	if err := a.get(ctx, "pulls", q, &all); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(p pull) bool { return p.Head.Ref == branch })
	if i < 0 {
		return nil, nil
	}
	return &all[i], nil
}

func (c Config) prView() tools.Tool {
	return tool(c, "github_pr_view", `{"number":13}`, 0, func(ctx context.Context, a *api, in pullInput) (tools.Result, error) {
		p, err := a.pull(ctx, in.Number)
		if err != nil {
			return tools.Result{}, err
		}
		at := strconv.Itoa(p.Number)
		files, err := list[struct {
			Name    string `json:"filename"`
			Added   int    `json:"additions"`
			Removed int    `json:"deletions"`
		}](ctx, a, "pulls/"+at+"/files")
		if err != nil {
			return tools.Result{}, err
		}
		reviews, err := list[review](ctx, a, "pulls/"+at+"/reviews")
		if err != nil {
			return tools.Result{}, err
		}
		comments, err := list[comment](ctx, a, "issues/"+at+"/comments")
		if err != nil {
			return tools.Result{}, err
		}
		i := p.issue
		if i.State = p.state(); p.Draft {
			i.State += ", a draft"
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s%s -> %s, +%d -%d in %d files", a.repo, i.words(), p.Head.Ref, p.Base.Ref, p.Added, p.Removed, p.Files)
		if p.Mergeable != "" {
			fmt.Fprintf(&b, ", %s", p.Mergeable)
		}
		fmt.Fprintf(&b, "\n\n%s\n\n", shown(p.Body, mostBody))
		for n, f := range files {
			if n == mostFiles {
				fmt.Fprintf(&b, "and %d more files\n", len(files)-n)
				break
			}
			fmt.Fprintf(&b, "%s +%d -%d\n", line(f.Name), f.Added, f.Removed)
		}
		for _, r := range reviews[max(0, len(reviews)-mostSays):] {
			fmt.Fprintf(&b, "review by %s on %.10s: %s %s\n", r.User.Login, r.Submitted, strings.ToLower(r.State), shown(r.Body, mostSaid))
		}
		b.WriteString(lastComments(comments))
		return result(b.String(), fmt.Sprintf("#%d %s, %s", p.Number, line(p.Title), p.state()), "pull_request", p.artifact(a.repo))
	}, "pull_request")
}

// mostDiff bounds, in bytes, the artifact pr_diff.
const mostDiff = 1 << 20

func (c Config) prDiff() tools.Tool {
	return tool(c, "github_pr_diff", `{"number":13}`, 0, func(ctx context.Context, a *api, in pullInput) (tools.Result, error) {
		p, err := a.pull(ctx, in.Number)
		if err != nil {
			return tools.Result{}, err
		}
		b, err := a.ask(ctx, http.MethodGet, a.at("pulls/"+strconv.Itoa(p.Number), nil), "application/vnd.github.diff", nil)
		if e := new(apiError); errors.As(err, &e) && e.Status == http.StatusNotAcceptable {
			return tools.Result{}, errors.New("the change is larger than GitHub shows as one diff: read the files, github_pr_view lists them")
		}
		if err != nil {
			return tools.Result{}, err
		}
		text := rootfs.Visible(strings.ToValidUTF8(string(b), "\uFFFD"))
		const most = 24_000
		r := tools.Result{Text: text, Summary: fmt.Sprintf("#%d, %d files, +%d -%d", p.Number, p.Files, p.Added, p.Removed)}
		if len(text) > most {
			r.Text = fmt.Sprintf("%s\n[%d of %d bytes shown; the files are in the workspace if the branch is checked out]\n", strings.ToValidUTF8(text[:most], ""), most, len(text))
		}
		return turn.Bind(r, "pr_diff", text[:min(len(text), mostDiff)])
	}, "pr_diff")
}

// checksInput is the input of github_pr_checks.
type checksInput struct {
	Number int    `json:"number,omitempty" jsonschema:"minimum=1,description=Default that of the current branch"`
	Commit string `json:"commit,omitempty" jsonschema:"description=Default the last one of the pull request"`
	Wait   bool   `json:"wait,omitempty" jsonschema:"description=Wait up to four minutes until there are checks and none is pending"`
	about
}

// Checks is the artifact pr_checks: how many there are of each state.
type Checks struct {
	Number  int    `json:"number"`
	Commit  string `json:"commit"`
	Total   int    `json:"total"`
	Failed  int    `json:"failed"`
	Pending int    `json:"pending"`
	Passed  int    `json:"passed"`
	Skipped int    `json:"skipped"`
}

// How long, and how often, github_pr_checks looks.
const (
	checksWait  = 4 * time.Minute
	checksFirst = time.Second
	checksEach  = 20 * time.Second
)

func (c Config) prChecks() tools.Tool {
	return tool(c, "github_pr_checks", `{"number":13}`, 0, func(ctx context.Context, a *api, in checksInput) (tools.Result, error) {
		p, err := a.pull(ctx, in.Number)
		if err != nil {
			return tools.Result{}, err
		}
		commit := cmp.Or(in.Commit, p.Head.SHA)
		all, err := a.checks(ctx, commit)
		end := time.Now().Add(checksWait)
		for each := checksFirst; err == nil && in.Wait && !settled(all) && time.Now().Add(each).Before(end); each = min(2*each, checksEach) {
			if err := pause(ctx, each); err != nil {
				return tools.Result{}, err
			}
			all, err = a.checks(ctx, commit)
		}
		if err != nil {
			return tools.Result{}, err
		}
		counts := map[string]int{}
		var b strings.Builder
		for _, state := range []string{"failed", "pending", "passed", "skipped"} {
			for _, c := range all {
				if c.state() != state {
					continue
				}
				counts[state]++
				fmt.Fprintf(&b, "%s: %s", state, line(c.Name))
				if state == "failed" {
					fmt.Fprintf(&b, " (%s) %s %s", c.Conclusion, shown(strings.TrimSpace(c.Output.Title+" "+c.Output.Summary), mostSaid), c.URL)
				}
				b.WriteByte('\n')
			}
		}
		summary := fmt.Sprintf("%d passed, %d failed, %d pending", counts["passed"], counts["failed"], counts["pending"])
		if len(all) == 0 {
			summary = "no checks"
			b.WriteString("Nothing checks this pull request.\n")
		}
		return result(fmt.Sprintf("#%d at %.10s: %s\n%s", p.Number, commit, summary, b.String()), summary, "pr_checks",
			Checks{p.Number, commit, len(all), counts["failed"], counts["pending"], counts["passed"], counts["skipped"]})
	}, "pr_checks")
}

// settled reports whether there are checks, and each has ended. GitHub lists those of a new
// commit a while after the push.
func settled(all []checkRun) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(c checkRun) bool { return c.state() == "pending" })
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

type checkRun struct {
	Name       string `json:"name"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	URL        string `json:"html_url"`
	Output     struct {
		Title   string `json:"title"`
		Summary string `json:"summary"`
	} `json:"output"`
}

func (c checkRun) state() string {
	switch {
	case c.Status != "completed":
		return "pending"
	case c.Conclusion == "success":
		return "passed"
	case c.Conclusion == "neutral", c.Conclusion == "skipped":
		return "skipped"
	}
	return "failed"
}

// checks are the check runs and the statuses of a commit.
func (a *api) checks(ctx context.Context, sha string) ([]checkRun, error) {
	var runs struct {
		All []checkRun `json:"check_runs"`
	}
	if err := a.get(ctx, "commits/"+url.PathEscape(sha)+"/check-runs", url.Values{"per_page": {"100"}}, &runs); err != nil {
		return nil, err
	}
	var old struct {
		Statuses []struct {
			Context     string `json:"context"`
			State       string `json:"state"`
			Description string `json:"description"`
			URL         string `json:"target_url"`
		} `json:"statuses"`
	}
	if err := a.get(ctx, "commits/"+url.PathEscape(sha)+"/status", nil, &old); err != nil {
		return nil, err
	}
	all := runs.All
	for _, s := range old.Statuses {
		c := checkRun{Name: s.Context, Status: "completed", Conclusion: s.State, URL: s.URL}
		if c.Output.Title = s.Description; s.State == "pending" {
			c.Status = "pending"
		}
		all = append(all, c)
	}
	return all, nil
}

// Bounds of what is shown at once, in bytes and entries.
const (
	mostText  = 16_000 // of a result
	mostBody  = 6_000  // of an issue or a pull request
	mostSaid  = 1_200  // of a comment
	mostSays  = 15     // comments, the last
	mostFiles = 60
)

type user struct {
	Login string `json:"login"`
}

type label struct {
	Name string `json:"name"`
}

// An issue is also what pull requests are.
type issue struct {
	Number    int             `json:"number"`
	Title     string          `json:"title"`
	State     string          `json:"state"`
	Body      string          `json:"body"`
	URL       string          `json:"html_url"`
	User      user            `json:"user"`
	Labels    []label         `json:"labels"`
	Comments  int             `json:"comments"`
	Created   string          `json:"created_at"`
	Reason    string          `json:"state_reason"`
	PullAsked json.RawMessage `json:"pull_request"`
}

type comment struct {
	User    user   `json:"user"`
	Body    string `json:"body"`
	Created string `json:"created_at"`
	URL     string `json:"html_url"`
}

func (i issue) words() string {
	state := i.State
	if i.Reason != "" && i.State == "closed" {
		state += " (" + i.Reason + ")"
	}
	var labels []string
	for _, l := range i.Labels {
		labels = append(labels, l.Name)
	}
	text := fmt.Sprintf("#%d %s\n%s, by %s on %.10s", i.Number, line(i.Title), state, i.User.Login, i.Created)
	if labels != nil {
		text += ", labels " + strings.Join(labels, ", ")
	}
	return text + "\n" + i.URL + "\n"
}

// lastComments renders the last comments.
func lastComments(all []comment) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	from := max(0, len(all)-mostSays)
	fmt.Fprintf(&b, "\n%d comments", len(all))
	if from > 0 {
		fmt.Fprintf(&b, ", the last %d", mostSays)
	}
	b.WriteString(":\n")
	for _, c := range all[from:] {
		fmt.Fprintf(&b, "- %s on %.10s: %s\n", c.User.Login, c.Created, shown(c.Body, mostSaid))
	}
	return b.String()
}

// shown is a text of others, cut to n bytes, with nothing in it that a terminal
// would obey and without our marks.
func shown(s string, n int) string {
	s = strings.TrimSpace(rootfs.Visible(strings.ReplaceAll(marked.ReplaceAllString(s, ""), "\r\n", "\n")))
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n*2/3], "") + "\n[...]\n" + strings.ToValidUTF8(s[len(s)-n/3:], "")
}

func line(s string) string { return strings.Join(strings.Fields(shown(s, 300)), " ") }

// result shows text, and binds v as an artifact if name is not empty.
func result(text, summary, name string, v any) (tools.Result, error) {
	r := tools.Result{Text: shown(text, mostText) + "\n", Summary: summary}
	if name == "" {
		return r, nil
	}
	return turn.Bind(r, name, v)
}
