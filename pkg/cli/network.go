package cli

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/cli/exit"
	"github.com/adroit-run/adroit/pkg/netguard"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/research"
)

// A networkConfig says how far tools reach. See netguard.Guard.
type networkConfig struct {
	Allow     []string      `yaml:"allow"`
	Timeout   time.Duration `yaml:"timeout"`
	MaxBody   int           `yaml:"max_body"` // MB
	Redirects int           `yaml:"redirects"`
}

// guard is what stands between tools and the network.
func (n networkConfig) guard() netguard.Guard {
	return netguard.Guard{Allow: n.Allow, Timeout: n.Timeout, MaxBody: int64(n.MaxBody) << 20, Redirects: n.Redirects}
}

func (n networkConfig) check(where string) error {
	if err := n.guard().Check(); err != nil {
		return exit.Fail(fmt.Errorf("%s: network.allow: %w", where, err), "an entry without a port stands for every port")
	}
	switch {
	case n.Timeout < 0:
		return exit.Fail(fmt.Errorf("%s: network.timeout is negative", where), "leave it out for "+netguard.DefaultTimeout.String())
	case n.MaxBody < 0 || n.MaxBody > 1<<10:
		return exit.Fail(fmt.Errorf("%s: network.max_body is %d", where, n.MaxBody), "it is a number of MB, 1024 at most")
	case n.Redirects < -1 || n.Redirects > 20:
		return exit.Fail(fmt.Errorf("%s: network.redirects is %d", where, n.Redirects), "it is -1 for none, or 20 at most")
	}
	return nil
}

func (n networkConfig) settings() []setting {
	span := netguard.DefaultTimeout
	if n.Timeout > 0 {
		span = n.Timeout
	}
	allow := strings.Join(n.Allow, ", ")
	return []setting{
		{"network.allow", cmp.Or(allow, "none"), allow != ""},
		{"network.timeout", span.String(), n.Timeout > 0},
		{"network.max_body", strconv.Itoa(cmp.Or(n.MaxBody, netguard.DefaultBody>>20)), n.MaxBody > 0},
		{"network.redirects", strconv.Itoa(cmp.Or(n.Redirects, netguard.DefaultRedirects)), n.Redirects != 0},
	}
}

// A researchConfig is what the research tools know by name.
type researchConfig struct {
	Feeds     map[string]string         `yaml:"feeds"`
	Calendars map[string]calendarConfig `yaml:"calendars"`
	Search    searchConfig              `yaml:"search"`
	Links     map[string]string         `yaml:"links"`
}

// A calendarConfig is an .ics address or a CalDAV collection. KeyEnv names the
// variable that holds the password.
type calendarConfig struct {
	URL    string `yaml:"url"`
	Kind   string `yaml:"kind"`
	User   string `yaml:"user"`
	KeyEnv string `yaml:"key_env"`
}

type searchConfig struct {
	Engine string `yaml:"engine"`
	URL    string `yaml:"url"`
	KeyEnv string `yaml:"key_env"`
}

func (r researchConfig) check(where string) error {
	for _, m := range []struct {
		key string
		of  map[string]string
	}{{"feeds", r.Feeds}, {"links", r.Links}} {
		for _, name := range slices.Sorted(maps.Keys(m.of)) {
			if err := checkAddress(m.of[name]); err != nil {
				return exit.Fail(fmt.Errorf("%s: research.%s.%s: %w", where, m.key, name, err), "for example https://go.dev/blog/feed.atom")
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Calendars)) {
		c := r.Calendars[name]
		if c.Kind != "" && c.Kind != "ics" && c.Kind != "caldav" {
			return exit.Fail(fmt.Errorf("%s: research.calendars.%s.kind is %q", where, name, c.Kind), "it is ics or caldav")
		}
		if err := checkAddress(strings.Replace(c.URL, "webcal://", "https://", 1)); err != nil {
			return exit.Fail(fmt.Errorf("%s: research.calendars.%s.url: %w", where, name, err), "for example https://example.org/team.ics")
		}
	}
	switch s := r.Search; {
	case s.Engine == "" && (s.URL != "" || s.KeyEnv != ""), s.Engine != "" && !slices.Contains(research.Engines, s.Engine):
		return exit.Fail(fmt.Errorf("%s: research.search.engine is %q", where, s.Engine), "it is one of "+strings.Join(research.Engines, ", "))
	case s.Engine == "searxng" && s.URL == "", s.URL != "" && checkAddress(s.URL) != nil:
		return exit.Fail(fmt.Errorf("%s: research.search.url is %q", where, s.URL), "it is the address of your SearxNG, for example http://searx.lan:8080")
	case s.Engine == "brave" && s.KeyEnv == "":
		return exit.Fail(fmt.Errorf("%s: research.search: brave needs key_env", where), "it names the variable that holds the key")
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

func (r researchConfig) settings() []setting {
	var out []setting
	add := func(key, value string) {
		if value != "" {
			out = append(out, setting{"research." + key, value, true})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Feeds)) {
		add("feeds."+name, r.Feeds[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Calendars)) {
		c := r.Calendars[name]
		// The address of a private calendar is its password: it is not shown.
		add("calendars."+name+".url", hostOf(c.URL))
		add("calendars."+name+".kind", c.Kind)
		add("calendars."+name+".user", c.User)
		add("calendars."+name+".key_env", c.KeyEnv)
	}
	add("search.engine", r.Search.Engine)
	add("search.url", r.Search.URL)
	add("search.key_env", r.Search.KeyEnv)
	for _, name := range slices.Sorted(maps.Keys(r.Links)) {
		add("links."+name, r.Links[name])
	}
	return out
}

func hostOf(s string) string {
	if u, err := url.Parse(s); err == nil {
		return u.Scheme + "://" + u.Host + "/…"
	}
	return "(set)"
}

// informed puts the research tools as the configuration sets them up in the
// place of those that know of none.
func (a *app) informed(list []tools.Tool) []tools.Tool {
	c, err := a.config()
	if err != nil {
		return list // whoever needs the configuration says what is wrong with it
	}
	conf := research.Config{Feeds: c.Research.Feeds, Links: c.Research.Links, Getenv: a.Getenv, Now: a.now,
		Calendars: map[string]research.Source{}, Search: research.Search(c.Research.Search)}
	for name, s := range c.Research.Calendars {
		conf.Calendars[name] = research.Source{URL: s.URL, CalDAV: s.Kind == "caldav", User: s.User, KeyEnv: s.KeyEnv}
	}
	if dir, err := a.dataDir(); err == nil {
		conf.Cache = filepath.Join(dir, "cache", "web")
	}
	own := map[string]tools.Tool{}
	for _, t := range research.Tools(conf) {
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
