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
// looked for first, so that a call that is repeated writes nothing twice. The
// package does not push: a pull request is made of a branch that is on GitHub.
package github

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Config describes how GitHub is reached.
type Config struct {
	TokenEnv string // the variable with the token
	Host     string // default github.com

	// Getenv reads the token and the proxy; nil is os.Getenv.
	Getenv func(string) string
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
		c.prView(), c.prDiff(), c.prChecks(), c.prCreate(), c.prReview(),
	}
}

// Configure gives list with the tools of this package made for c.
func Configure(list []tools.Tool, c Config) []tools.Tool {
	out := slices.Clone(list)
	for _, own := range Tools(c) {
		for i := range out {
			if out[i].Name == own.Name {
				own.Optionality, own.When = out[i].Optionality, out[i].When
				out[i] = own
			}
		}
	}
	return out
}

var hostName = lazyregexp.New(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// Check reports what is wrong with the configuration, by key.
func (c Config) Check() error {
	var errs []error
	if c.Host != "" && !hostName.MatchString(c.Host) {
		errs = append(errs, fmt.Errorf("host is %q; it is a name such as github.example.com", c.Host))
	}
	if c.Host != "" && c.TokenEnv == "" {
		errs = append(errs, errors.New("token_env is missing; it names the variable with the token"))
	}
	return errors.Join(errs...)
}

// Secrets are the variables that hold credentials.
func (c Config) Secrets() []string {
	if c.TokenEnv == "" {
		return nil
	}
	return []string{c.TokenEnv}
}

// An about is what every input begins with.
type about struct {
	Repo string `json:"repo,omitempty" jsonschema:"description=owner/name; default that of the workspace"`
}

func (a about) repository() string { return a.Repo }

// tool makes a tool of what f does with the API of the repository that the
// input names.
func tool[In interface{ repository() string }](c Config, name, prose, example string, writes tools.Caps,
	f func(ctx context.Context, a *api, in In) (tools.Result, error), produces ...string) tools.Tool {
	m := tools.Metadata{
		Name: name, Category: "vcs", Needs: tools.Exec | tools.Net | writes, Effect: tools.Idempotent,
		Optionality: tools.Conditional, When: "the task is about GitHub",
		Requires: []string{"gh"}, Produces: produces, Timeout: limit,
		Examples: []tools.Example{{Args: json.RawMessage(example)}},
	}.Prose(prose)
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
