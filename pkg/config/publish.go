package config

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/tools/publish"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A publishSection configures the targets of the publishing tools. See
// publish.Config.
type publishSection struct {
	Markdown markdownSite             `yaml:"markdown"`
	Notion   notionTarget             `yaml:"notion"`
	Webhooks map[string]webhookTarget `yaml:"webhooks"`
}

type markdownSite struct {
	Style string `yaml:"style"`
	Dir   string `yaml:"dir"`
	URL   string `yaml:"url"`
}

type notionTarget struct {
	KeyEnv      string            `yaml:"key_env"`
	DataSource  string            `yaml:"data_source"`
	Database    string            `yaml:"database"`
	KeyProperty string            `yaml:"key_property"`
	Properties  map[string]string `yaml:"properties"`
	URL         string            `yaml:"url"`
}

type webhookTarget struct {
	URL        string `yaml:"url" show:"host"` // the path may be a secret
	SecretEnv  string `yaml:"secret_env"`
	Idempotent bool   `yaml:"idempotent"`
	Lookup     string `yaml:"lookup" show:"host"`
}

// targets converts the section for the tools.
func (c publishSection) targets() publish.Config {
	out := publish.Config{Markdown: publish.Site(c.Markdown), Notion: publish.Notion(c.Notion), Webhooks: map[string]publish.Webhook{}}
	for name, w := range c.Webhooks {
		out.Webhooks[name] = publish.Webhook(w)
	}
	return out
}

// publishTools puts the publishing tools as they are configured in the place of
// those that know of no target.
func (c *Config) publishTools(list []tools.Tool, now func() time.Time) []tools.Tool {
	conf := c.Publish.targets()
	conf.Getenv, conf.Now = c.getenv, now
	return publish.Configure(list, conf)
}

func checkPublish(at place, c publishSection) error {
	site := func(m markdownSite) error { return publishSection{Markdown: m}.targets().Check() }
	notion := func(n notionTarget) error { return publishSection{Notion: n}.targets().Check() }
	faults := []error{checkTarget(at, c.Markdown, site, "markdown"), checkTarget(at, c.Notion, notion, "notion")}
	for _, name := range slices.Sorted(maps.Keys(c.Webhooks)) {
		hook := func(w webhookTarget) error {
			return publishSection{Webhooks: map[string]webhookTarget{name: w}}.targets().Check()
		}
		faults = append(faults, checkTarget(at, c.Webhooks[name], hook, "webhooks", name))
	}
	return all(faults...)
}

func checkTarget[T any](at place, t T, check func(T) error, keys ...string) error {
	err := check(t)
	if err == nil {
		return nil
	}
	where := culprit(at, t, check, append([]string{"publish"}, keys...)...)
	return fail(fmt.Errorf("%s: publish.%w", where, err), "docs/config.md shows how targets are written")
}
