package github

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed github_pr_create.md
var prCreateProse string

//go:embed github_pr_review.md
var prReviewProse string

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
	return tool(c, "github_pr_create", prCreateProse, `{"repo":"acme/shop","title":"Round totals per cart","body":"Cents were lost."}`, tools.Publish, func(ctx context.Context, a *api, in createInput) (tools.Result, error) {
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
	return tool(c, "github_pr_review", prReviewProse, `{"repo":"acme/shop","number":13,"event":"comment","body":"cart.go:12 loses cents."}`, tools.Publish, func(ctx context.Context, a *api, in reviewInput) (tools.Result, error) {
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
