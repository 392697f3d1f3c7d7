package config

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/tools/calendar"
	"github.com/adroit-run/adroit/internal/tools/github"
	"github.com/adroit-run/adroit/internal/tools/publish"
	"github.com/adroit-run/adroit/internal/tools/web"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A researchSection names feeds, calendars and links, and the search engine.
type researchSection struct {
	Feeds     map[string]string         `yaml:"feeds"`
	Calendars map[string]calendarSource `yaml:"calendars"`
	Search    searchEngine              `yaml:"search"`
	Links     map[string]string         `yaml:"links"`
}

// A calendarSource is an .ics address or a CalDAV collection. KeyEnv names the
// variable that holds the password. The address of a private calendar is its
// password, too.
type calendarSource struct {
	URL    string `yaml:"url" show:"host"`
	Kind   string `yaml:"kind"`
	User   string `yaml:"user"`
	KeyEnv string `yaml:"key_env"`
}

type searchEngine struct {
	Engine string `yaml:"engine"`
	URL    string `yaml:"url"`
	KeyEnv string `yaml:"key_env"`
}

func (r researchSection) check(at place) error {
	for _, m := range []struct {
		key string
		of  map[string]string
	}{{"feeds", r.Feeds}, {"links", r.Links}} {
		for _, name := range slices.Sorted(maps.Keys(m.of)) {
			if err := checkAddress(m.of[name]); err != nil {
				return fail(fmt.Errorf("%s: research.%s.%s: %w", at("research", m.key, name), m.key, name, err), "for example https://go.dev/blog/feed.atom")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Calendars)) {
		c := r.Calendars[name]
		if c.Kind != "" && c.Kind != "ics" && c.Kind != "caldav" {
			return fail(fmt.Errorf("%s: research.calendars.%s.kind is %q", at("research", "calendars", name, "kind"), name, c.Kind), "it is ics or caldav")
		}
		if err := checkAddress(strings.Replace(c.URL, "webcal://", "https://", 1)); err != nil {
			return fail(fmt.Errorf("%s: research.calendars.%s.url: %w", at("research", "calendars", name, "url"), name, err), "for example https://example.org/team.ics")
		}
	}
	switch s := r.Search; {
	case s.Engine == "" && (s.URL != "" || s.KeyEnv != ""), s.Engine != "" && !slices.Contains(web.Engines, s.Engine):
		return fail(fmt.Errorf("%s: research.search.engine is %q", at("research", "search", "engine"), s.Engine), "it is one of "+strings.Join(web.Engines, ", "))
	case s.Engine == "searxng" && s.URL == "", s.URL != "" && checkAddress(s.URL) != nil:
		return fail(fmt.Errorf("%s: research.search.url is %q", at("research", "search", "url"), s.URL), "it is the address of your SearxNG, for example http://searx.lan:8080")
	case s.Engine == "brave" && s.KeyEnv == "":
		return fail(fmt.Errorf("%s: research.search: brave needs key_env", at("research", "search", "key_env")), "it names the variable that holds the key")
	}
	return nil
}

func checkAddress(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return fmt.Errorf("%q is not an http or https address", s)
	case u.User != nil:
		return fmt.Errorf("the address of %s holds a user name or password; use user and key_env where there are such", u.Hostname())
	}
	return nil
}

func hostOf(s string) string {
	if u, err := url.Parse(s); err == nil {
		return u.Scheme + "://" + u.Host + "/…"
	}
	return "(set)"
}

// researchTools puts the research tools as they are configured in the place of
// those that know of no configuration.
func (c *Config) researchTools(list []tools.Tool, now func() time.Time) []tools.Tool {
	conf := web.Config{Feeds: c.Research.Feeds, Links: c.Research.Links, Getenv: c.getenv, Now: now, Search: web.Search(c.Research.Search)}
	calendars := calendar.Config{Calendars: map[string]calendar.Source{}, Getenv: c.getenv, Now: now}
	for name, s := range c.Research.Calendars {
		calendars.Calendars[name] = calendar.Source{URL: s.URL, CalDAV: s.Kind == "caldav", User: s.User, KeyEnv: s.KeyEnv}
	}
	if dir, err := c.Data(); err == nil {
		conf.Cache = filepath.Join(dir, "cache", "web")
		calendars.Cache = conf.Cache
	}
	own := map[string]tools.Tool{}
	for _, t := range append(web.Tools(conf), calendar.Tool(calendars)) {
		own[t.Name] = t
	}
	list = slices.Clone(list)
	for i, t := range list {
		// A program's own tool that has the name only is left alone.
		if o, ok := own[t.Name]; ok && t.Category == o.Category && t.Description == o.Description {
			o.Optionality, o.When = t.Optionality, t.When
			list[i] = o
		}
	}
	return list
}

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
	where := faultPlace(at, t, check, append([]string{"publish"}, keys...)...)
	return fail(fmt.Errorf("%s: publish.%w", where, err), "docs/config.md shows how targets are written")
}

// A githubSection configures the access to GitHub. See github.Config.
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
		return fail(fmt.Errorf("%s: github.%w", faultPlace(at, c, check, "github"), err), "docs/github.md shows how GitHub is set up")
	}
	return nil
}
