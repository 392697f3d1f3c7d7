package cli

import (
	"cmp"
	"fmt"

	"github.com/adroit-run/adroit/pkg/tools/github"
)

// A githubConfig says how the GitHub tools reach it. See github.Config.
type githubConfig struct {
	TokenEnv string `yaml:"token_env"`
	Host     string `yaml:"host"`
}

func (c githubConfig) target() github.Config {
	return github.Config{TokenEnv: c.TokenEnv, Host: c.Host}
}

func (c githubConfig) check(where string) error {
	if err := c.target().Check(); err != nil {
		return fail(fmt.Errorf("%s: github.%w", where, err), "docs/github.md shows how GitHub is set up")
	}
	return nil
}

func (c githubConfig) settings() []setting {
	return []setting{
		{"github.token_env", cmp.Or(c.TokenEnv, "none"), c.TokenEnv != ""},
		{"github.host", cmp.Or(c.Host, "github.com"), c.Host != ""},
	}
}
