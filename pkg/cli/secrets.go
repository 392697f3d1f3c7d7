package cli

import (
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

// names are the operator's changes to the list of names no tool may touch.
func (a *app) names() *workspace.DenyList {
	c, err := a.config()
	if err != nil {
		return nil
	}
	return c.Names()
}
