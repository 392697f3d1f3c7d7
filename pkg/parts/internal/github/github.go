// Package github has tools for issues and pull requests on GitHub. They run
// gh, GitHub's own program, and read what the API answers:
//
//	set, err := tools.NewSet(github.Tools(github.Config{TokenEnv: "GH_TOKEN"})...)
//
// gh is given arguments, never a command line, and runs in the sandbox of the
// workspace's commands with the network and nothing else added. The token is
// that of the variable that the operator has named; no other login is used.
//
// What comes back was written by others. What is written carries a mark or is
// looked for first, so that a call that is repeated writes nothing twice.
// github_pr_push pushes to the branch of an open pull request and to no other, by
// the git of the person whose machine it is.
package github

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed *.md
var descriptions embed.FS

// A Config describes how GitHub is reached.
type Config struct {
	TokenEnv string `yaml:"token_env"` // the variable with the token
	Host     string `yaml:"host"`      // default github.com

	// Getenv reads the token and the proxy; nil is os.Getenv.
	Getenv func(string) string `yaml:"-"`
}

// Tools are the tools for a configuration. Without a token they require one, so
// that no agent is offered them.
func Tools(c Config) []tools.Tool {
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	c.Host = cmp.Or(c.Host, "github.com")
	return []tools.Tool{
		c.issueList(), c.issueView(), c.issueComment(),
		c.prView(), c.prDiff(), c.prChecks(), c.prCheckout(), c.prPush(), c.prCreate(), c.prReview(),
	}
}

// Part is the github part: its tools and their section.
func Part() adroit.Part {
	return adroit.Part{Name: "github", About: "Read and write issues and pull requests on GitHub.", Section: func() adroit.Section { return &Config{} }}
}

// Key is the section's.
func (c *Config) Key() string { return "github" }

// Settings are its keys.
func (c *Config) Settings() []adroit.PartSetting {
	return []adroit.PartSetting{
		{Key: "token_env", About: "The environment variable with the token of the GitHub tools; without it no agent is offered them. See [github.md](github.md)", Default: "none"},
		{Key: "host", About: "The name of a GitHub Enterprise server in place of `github.com`", Default: "github.com"},
	}
}

// Tools returns the tools for the section's host and token.
func (c *Config) Tools(h adroit.PartHost) []tools.Tool {
	return tools.Bundle{Optional: Tools(Config{TokenEnv: c.TokenEnv, Host: c.Host, Getenv: h.Getenv})}.Tools()
}

var hostName = lazyregexp.New(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// Check checks the host, and that a token goes with it.
func (c *Config) Check(fault func(err error, hint string, keys ...string)) {
	const hint = "docs/github.md shows how GitHub is set up"
	if c.Host != "" && !hostName.MatchString(c.Host) {
		fault(fmt.Errorf("github.host is %q; it is a name such as github.example.com", c.Host), hint, "host")
	}
	if c.Host != "" && c.TokenEnv == "" {
		fault(errors.New("github.token_env is missing; it names the variable with the token"), hint, "token_env")
	}
}

// Secrets are the variables that hold credentials.
func (c Config) Secrets() []string {
	if c.TokenEnv == "" {
		return nil
	}
	return []string{c.TokenEnv}
}

// An about has the fields with which every input begins.
type about struct {
	Repo string `json:"repo,omitempty" jsonschema:"description=owner/name; default that of the workspace"`
}

func (a about) repository() string { return a.Repo }

// tool makes a tool of what f does with the API of the repository that the
// input names.
func tool[In interface{ repository() string }](c Config, name, example string, writes tools.Caps,
	f func(ctx context.Context, a *api, in In) (tools.Result, error), produces ...string) tools.Tool {
	m := tools.Metadata{
		Name: name, Category: "vcs", Needs: tools.Exec | tools.Net | writes, Effect: tools.Idempotent,
		Optionality: tools.Conditional, When: "the task is about GitHub",
		Requires: []string{"gh"}, Produces: produces, Timeout: limit,
		Examples: []tools.Example{{Args: json.RawMessage(example)}},
	}.ProseIn(descriptions)
	if c.TokenEnv == "" {
		m.Requires = append(m.Requires, "config:github.token_env")
	}
	return tools.New(m, func(ctx context.Context, env *tools.Env, in In) (tools.Result, error) {
		a, err := c.open(ctx, env, in.repository())
		if err != nil {
			return tools.Result{}, err
		}
		return f(ctx, a, in)
	})
}

// createInput is the input of github_pr_create.
type createInput struct {
	Repo  string `json:"repo" jsonschema:"description=owner/name"`
	Title string `json:"title" jsonschema:"description=One line"`
	Body  string `json:"body" jsonschema:"description=Markdown"`
	Head  string `json:"head,omitempty" jsonschema:"description=Branch; default the current one"`
	Base  string `json:"base,omitempty" jsonschema:"description=Branch to merge into; default the repository's"`
	Draft bool   `json:"draft,omitempty" jsonschema:"description=Not ready for review"`
}

func (in createInput) repository() string { return in.Repo }

func (c Config) prCreate() tools.Tool {
	return tool(c, "github_pr_create", `{"repo":"acme/shop","title":"Round totals per cart","body":"Cents were lost."}`, tools.Publish, func(ctx context.Context, a *api, in createInput) (tools.Result, error) {
		if err := errors.Join(written("title", in.Title), written("body", in.Body)); err != nil {
			return tools.Result{}, err
		}
		if in.Head == "" {
			s, err := git.New(a.env.Exec).Status(ctx)
			if err != nil {
				return tools.Result{}, err
			}
			if in.Head = s.Branch; in.Head == "" {
				return tools.Result{}, errors.New("no branch is checked out: give head")
			}
		}
		if in.Base == "" {
			var repo struct {
				Default string `json:"default_branch"`
			}
			if err := a.get(ctx, "", nil, &repo); err != nil {
				return tools.Result{}, err
			}
			in.Base = repo.Default
		}
		if in.Head == in.Base {
			return tools.Result{}, fmt.Errorf("head and base are both %s: make a branch for the change", in.Base)
		}
		find := func() (*pull, error) { return a.ofBranch(ctx, in.Head, "open") }
		res, err := once(find, func() (*pull, error) {
			var p pull
			return &p, a.post(ctx, "pulls", map[string]any{"title": in.Title, "body": in.Body, "head": in.Head, "base": in.Base, "draft": in.Draft}, &p)
		}, func(p *pull, before bool) (tools.Result, error) {
			text, summary := fmt.Sprintf("Opened #%d: %s", p.Number, p.URL), fmt.Sprintf("opened #%d", p.Number)
			if before {
				text = fmt.Sprintf("The branch %s has an open pull request already: #%d %s, %s. Nothing was opened or changed.", in.Head, p.Number, line(p.Title), p.URL)
				summary = fmt.Sprintf("#%d is open already", p.Number)
			}
			return result(text, summary, "pull_request", p.artifact(a.repo))
		})
		if err != nil && strings.Contains(err.Error(), "head: invalid") || err != nil && strings.Contains(err.Error(), "head of PullRequest") {
			return res, fmt.Errorf("%w: the branch %s is not on GitHub; it has to be pushed first, which the user does", err, in.Head)
		}
		return res, err
	}, "pull_request")
}

// reviewInput is the input of github_pr_review.
type reviewInput struct {
	Repo   string `json:"repo" jsonschema:"description=owner/name"`
	Number int    `json:"number" jsonschema:"minimum=1,description=The pull request's"`
	Event  string `json:"event" jsonschema:"enum=comment,enum=approve,enum=request_changes,description=The verdict"`
	Body   string `json:"body" jsonschema:"description=Markdown"`
}

func (in reviewInput) repository() string { return in.Repo }

func (c Config) prReview() tools.Tool {
	return tool(c, "github_pr_review", `{"repo":"acme/shop","number":13,"event":"comment","body":"cart.go:12 loses cents."}`, tools.Publish, func(ctx context.Context, a *api, in reviewInput) (tools.Result, error) {
		if err := written("body", in.Body); err != nil {
			return tools.Result{}, err
		}
		at := fmt.Sprintf("pulls/%d/reviews", in.Number)
		mark := a.mark("review", strconv.Itoa(in.Number), in.Event, in.Body)
		find := func() (*review, error) { return carrying(ctx, a, at, mark, func(x *review) string { return x.Body }) }
		return once(find, func() (*review, error) {
			var r review
			return &r, a.post(ctx, at, map[string]string{"event": strings.ToUpper(in.Event), "body": in.Body + "\n\n" + mark}, &r)
		}, func(r *review, before bool) (tools.Result, error) {
			if before {
				return result("The review is there already: "+r.URL, "there already", "", nil)
			}
			return result("Reviewed: "+r.URL, fmt.Sprintf("reviewed #%d: %s", in.Number, in.Event), "", nil)
		})
	})
}

// marked finds our marks in a text.
var marked = lazyregexp.New(`\s*<!-- adroit:[0-9a-f]{24} -->`)

// mark is an invisible comment that identifies a written text by job and
// content, so that a model that repeats a call after a lost response does not
// write it twice.
func (a *api) mark(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{a.env.Job, a.repo}, parts...), "\x00")))
	return "<!-- adroit:" + hex.EncodeToString(sum[:12]) + " -->"
}

// written reports whether what a model wants to write can be.
func written(what, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New(what + " is empty: write what others are to read")
	case len(text) > 60_000:
		return errors.New(what + " is longer than GitHub takes: make it shorter than 60000 bytes")
	case strings.ContainsRune(text, 0):
		return errors.New(what + " has a NUL byte: leave it out")
	}
	return nil
}

// issueListInput is the input of github_issue_list.
type issueListInput struct {
	State  string `json:"state,omitempty" jsonschema:"enum=open,enum=closed,enum=all,description=Default open"`
	Labels string `json:"labels,omitempty" jsonschema:"description=Names with commas; all must be there"`
	Limit  int    `json:"limit,omitempty" jsonschema:"minimum=1,maximum=100,description=Default 30"`
	about
}

func (c Config) issueList() tools.Tool {
	return tool(c, "github_issue_list", `{"labels":"bug"}`, 0, func(ctx context.Context, a *api, in issueListInput) (tools.Result, error) {
		in.State = cmp.Or(in.State, "open")
		in.Limit = cmp.Or(in.Limit, 30)
		q := url.Values{"state": {in.State}, "per_page": {"100"}}
		if in.Labels != "" {
			q.Set("labels", in.Labels)
		}
		var all []issue
		if err := a.get(ctx, "issues", q, &all); err != nil {
			return tools.Result{}, err
		}
		var b strings.Builder
		n := 0
		for _, i := range all {
			if i.PullAsked != nil || n == in.Limit {
				continue
			}
			n++
			var labels []string
			for _, l := range i.Labels {
				labels = append(labels, l.Name)
			}
			fmt.Fprintf(&b, "#%d %s (%s) %s, %d comments\n", i.Number, line(i.Title), i.State, strings.Join(labels, ", "), i.Comments)
		}
		if n == 0 {
			b.WriteString("There are none.\n")
		}
		return result(b.String(), fmt.Sprintf("%d issues of %s", n, a.repo), "", nil)
	})
}

// numberInput is the input of the tools that look at one issue or pull request.
type numberInput struct {
	Number int `json:"number" jsonschema:"minimum=1,description=The issue's"`
	about
}

func (c Config) issueView() tools.Tool {
	return tool(c, "github_issue_view", `{"number":12}`, 0, func(ctx context.Context, a *api, in numberInput) (tools.Result, error) {
		var i issue
		at := "issues/" + strconv.Itoa(in.Number)
		if err := a.get(ctx, at, nil, &i); err != nil {
			return tools.Result{}, err
		}
		text := a.repo + " " + i.words() + "\n" + shown(i.Body, mostBody) + "\n"
		if i.Comments > 0 {
			all, err := list[comment](ctx, a, at+"/comments")
			if err != nil {
				return tools.Result{}, err
			}
			text += lastComments(all)
		}
		return result(text, fmt.Sprintf("#%d %s", i.Number, line(i.Title)), "issue", struct {
			Repo   string `json:"repo"`
			Number int    `json:"number"`
			Title  string `json:"title"`
			State  string `json:"state"`
			Body   string `json:"body"`
			URL    string `json:"url"`
		}{a.repo, i.Number, i.Title, i.State, shown(i.Body, mostText), i.URL})
	}, "issue")
}

// commentInput is the input of github_issue_comment. The repository is required,
// so that the approval prompt shows it.
type commentInput struct {
	Repo   string `json:"repo" jsonschema:"description=owner/name"`
	Number int    `json:"number" jsonschema:"minimum=1,description=Of the issue or pull request"`
	Body   string `json:"body" jsonschema:"description=Markdown"`
}

func (in commentInput) repository() string { return in.Repo }

func (c Config) issueComment() tools.Tool {
	return tool(c, "github_issue_comment", `{"repo":"acme/shop","number":12,"body":"Fixed by #13."}`, tools.Publish, func(ctx context.Context, a *api, in commentInput) (tools.Result, error) {
		if err := written("body", in.Body); err != nil {
			return tools.Result{}, err
		}
		at := fmt.Sprintf("issues/%d/comments", in.Number)
		mark := a.mark("comment", strconv.Itoa(in.Number), in.Body)
		find := func() (*comment, error) { return carrying(ctx, a, at, mark, func(x *comment) string { return x.Body }) }
		return once(find, func() (*comment, error) {
			var c comment
			return &c, a.post(ctx, at, map[string]string{"body": in.Body + "\n\n" + mark}, &c)
		}, func(c *comment, before bool) (tools.Result, error) {
			if before {
				return result("The comment is there already: "+c.URL, "there already", "", nil)
			}
			return result("Commented: "+c.URL, "commented on #"+strconv.Itoa(in.Number), "", nil)
		})
	})
}

// carrying returns the listed item whose text has the mark, nil if none has.
func carrying[T any](ctx context.Context, a *api, at, mark string, text func(*T) string) (*T, error) {
	all, err := list[T](ctx, a, at)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if strings.Contains(text(&all[i]), mark) {
			return &all[i], nil
		}
	}
	return nil, nil
}

// once writes unless find finds the text, and looks again if it is not known
// whether the write happened.
func once[T any](find, write func() (*T, error), done func(v *T, before bool) (tools.Result, error)) (tools.Result, error) {
	v, err := find()
	if err != nil {
		return tools.Result{}, err
	}
	if v != nil {
		return done(v, true)
	}
	if v, err = write(); err == nil {
		return done(v, false)
	}
	if outcomeUnknown(err) {
		if v, ferr := find(); ferr == nil && v != nil {
			return done(v, false)
		}
		return tools.Result{}, fmt.Errorf("%w. It may have been written all the same: the same call again looks first", err)
	}
	return tools.Result{}, err
}
