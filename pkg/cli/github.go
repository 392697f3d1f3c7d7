package cli

import (
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/github"
)

// onGitHub puts the GitHub tools as the configuration sets them up in the place
// of those that know of no token.
func (a *app) onGitHub(list []tools.Tool) []tools.Tool {
	c, err := a.config()
	if err != nil {
		return list // whoever needs the configuration says what is wrong with it
	}
	conf := c.GitHub.Target()
	conf.Getenv = a.Getenv
	return github.Configure(list, conf)
}
