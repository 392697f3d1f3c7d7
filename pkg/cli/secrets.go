package cli

import (
	"context"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/secret"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// redactor knows every key of the configuration and of the environment. It
// works as well as it can where the configuration cannot be read.
func (a *app) redactor() *secret.Redactor {
	if a.hide != nil {
		return a.hide
	}
	c, err := a.config()
	r := config.Redactor(c, a.Getenv)
	if err == nil {
		a.hide = r
	}
	return r
}

// redactorIn also knows the secrets of the workspace's environment files, of
// those that are there and those that were committed: no tool may read them, but
// a program that a tool runs may.
func (a *app) redactorIn(ctx context.Context, dir string) *secret.Redactor {
	known := git.EnvSecrets(ctx, dir)
	if len(known) == 0 {
		return a.redactor()
	}
	c, _ := a.config() // nil if it cannot be read
	return config.Redactor(c, a.Getenv, known...)
}

// names are the operator's changes to the list of names no tool may touch.
func (a *app) names() *workspace.DenyList {
	c, err := a.config()
	if err != nil {
		return nil
	}
	return c.Names()
}
