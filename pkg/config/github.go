package config

import (
	"fmt"

	"github.com/adroit-run/adroit/internal/tools/github"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A githubSection is how the GitHub tools reach GitHub. See github.Config.
type githubSection struct {
	TokenEnv string `yaml:"token_env"`
	Host     string `yaml:"host"`
}

func (c githubSection) target() github.Config {
	return github.Config{TokenEnv: c.TokenEnv, Host: c.Host}
}

// githubTools puts the GitHub tools as they are configured in the place of
// those that know of no token.
func (c *Config) githubTools(list []tools.Tool) []tools.Tool {
	conf := c.GitHub.target()
	conf.Getenv = c.getenv
	return github.Configure(list, conf)
}

func (c githubSection) check(at place) error {
	check := func(c githubSection) error { return c.target().Check() }
	if err := check(c); err != nil {
		return fail(fmt.Errorf("%s: github.%w", culprit(at, c, check, "github"), err), "docs/github.md shows how GitHub is set up")
	}
	return nil
}
