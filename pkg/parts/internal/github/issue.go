package github

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed github_issue_list.md
var issueListProse string

//go:embed github_issue_view.md
var issueViewProse string

//go:embed github_issue_comment.md
var issueCommentProse string

// issueListInput is the input of github_issue_list.
type issueListInput struct {
	State  string `json:"state,omitempty" jsonschema:"enum=open,enum=closed,enum=all,description=Default open"`
	Labels string `json:"labels,omitempty" jsonschema:"description=Names with commas; all must be there"`
	Limit  int    `json:"limit,omitempty" jsonschema:"minimum=1,maximum=100,description=Default 30"`
	about
}

func (c Config) issueList() tools.Tool {
	return tool(c, "github_issue_list", issueListProse, `{"labels":"bug"}`, 0, func(ctx context.Context, a *api, in issueListInput) (tools.Result, error) {
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
	return tool(c, "github_issue_view", issueViewProse, `{"number":12}`, 0, func(ctx context.Context, a *api, in numberInput) (tools.Result, error) {
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
	return tool(c, "github_issue_comment", issueCommentProse, `{"repo":"acme/shop","number":12,"body":"Fixed by #13."}`, tools.Publish, func(ctx context.Context, a *api, in commentInput) (tools.Result, error) {
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
