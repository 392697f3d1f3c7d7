// Package research has the tools that read the web: feeds, pages and searches, and
// those that cite sources and check links.
//
//	set, err := tools.NewSet(research.Tools(research.Config{
//		Feeds: map[string]string{"go": "https://go.dev/blog/feed.atom"},
//	})...)
//
// All of it goes through Env.HTTP, which decides how far it reaches: see
// pkg/guard/netguard. What servers return is untrusted text, bounded in size and
// time.
package research

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/parts/internal/research/calendar"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed *.md
var descriptions embed.FS

// citeInput is the input of cite.
type citeInput struct {
	URL   string `json:"url" jsonschema:"description=Address of the source"`
	Title string `json:"title" jsonschema:"description=Its title"`
	Quote string `json:"quote,omitempty" jsonschema:"description=The words that are relied on"`
}

// A citation is one entry of the artifact "citations", which is a list of
// them in the order of their numbers.
type citation struct {
	Number   int    `json:"number"`
	URL      string `json:"url"`
	Title    string `json:"title"`
	Quote    string `json:"quote,omitempty"`
	Accessed string `json:"accessed"` // the day, in UTC
}

// mostCited bounds the artifact, which travels with the job's state.
const mostCited = 200

func (d *webTools) citeTool() tools.Tool {
	return tools.New(tools.Metadata{
		// Not pure: calls of one answer each see the list of the one before.
		Name: "cite", Category: "research", Effect: tools.Idempotent, Uses: []string{"citations"}, Produces: []string{"citations"},
		Examples: []tools.Example{{Note: "rely on a release note", Args: json.RawMessage(`{"url":"https://go.dev/doc/go1.26","title":"Go 1.26 Release Notes","quote":"The latest Go release"}`)}},
	}.ProseIn(descriptions), d.cite)
}

func (d *webTools) cite(_ context.Context, env *tools.Env, in citeInput) (tools.Result, error) {
	u, err := fetch.ParseURL(in.URL)
	if err != nil {
		return tools.Result{}, err
	}
	c := citation{URL: u.String(), Title: fetch.OneLine(in.Title, 300), Quote: fetch.OneLine(in.Quote, 1000), Accessed: d.Now().UTC().Format(time.DateOnly)}
	if c.Title == "" {
		return tools.Result{}, errors.New("title is empty: give the title of the page, as web_fetch shows it")
	}
	var list []citation
	if v := env.Artifacts.Value("citations"); v != nil {
		if err := json.Unmarshal(v, &list); err != nil {
			return tools.Result{}, errors.New("the artifact citations is not a list that cite made; another tool has replaced it, so this source cannot be added to it")
		}
	}
	for _, old := range list {
		if old.URL == c.URL && (c.Quote == "" || old.Quote == c.Quote) {
			return cited(list, old, "already cited as")
		}
	}
	if len(list) >= mostCited {
		return tools.Result{}, fmt.Errorf("there are %d citations, which is the most; rely on those", mostCited)
	}
	c.Number = len(list) + 1
	return cited(append(list, c), c, "cited as")
}

func cited(list []citation, c citation, how string) (tools.Result, error) {
	text := fmt.Sprintf("%s %s [%d]; %s so far:\n%s", c.Title, how, c.Number, spelling.Plural(len(list), "citation"), references(list))
	return turn.Bind(tools.Result{Text: text, Summary: fmt.Sprintf("[%d] %s", c.Number, c.Title)}, "citations", list)
}

// references lists citations as the end of a Markdown text has them.
func references(list []citation) string {
	escape := strings.NewReplacer(`[`, `\[`, `]`, `\]`, `<`, `\<`, "`", "\\`", `*`, `\*`, `_`, `\_`)
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "%d. [%s](<%s>), accessed %s", c.Number, escape.Replace(c.Title), strings.NewReplacer("<", "%3C", ">", "%3E").Replace(c.URL), c.Accessed)
		b.WriteByte('\n')
	}
	return b.String()
}

// linksInput is the input of static_links.
type linksInput struct {
	Query string `json:"query,omitempty" jsonschema:"description=Only links with all these words"`
}

// A link is an address from the operator's trusted list.
type link struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

func (d *webTools) linksTool() tools.Tool {
	m := tools.Metadata{
		Name: "static_links", Category: "research", Effect: tools.Pure, Uses: []string{"links"}, Produces: []string{"links"},
		Examples: []tools.Example{{Note: "where our documentation is", Args: json.RawMessage(`{"query":"docs"}`)}},
	}.ProseIn(descriptions)
	if len(d.Links) == 0 {
		m.Requires = []string{"config:research.links"}
	}
	return tools.New(m, d.listLinks)
}

func (d *webTools) listLinks(_ context.Context, env *tools.Env, in linksInput) (tools.Result, error) {
	all := map[string]string{}
	// What the job already has comes first: the configuration may be for all.
	maps.Copy(all, d.Links)
	maps.Copy(all, givenLinks(env.Artifacts.Value("links")))
	found := []link{}
	need := strings.Fields(strings.ToLower(in.Query))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text := strings.ToLower(name + " " + all[name])
		if !slices.ContainsFunc(need, func(w string) bool { return !strings.Contains(text, w) }) {
			found = append(found, link{name, all[name]})
		}
	}
	if len(all) == 0 {
		return tools.Result{}, fmt.Errorf("no links are configured (research.links); use web_search, or what the task names")
	}
	var b strings.Builder
	for _, l := range found {
		fmt.Fprintf(&b, "- %s: %s\n", l.Name, l.URL)
	}
	if len(found) == 0 {
		fmt.Fprintf(&b, "None of %s fits. There are: %s\n", spelling.Plural(len(all), "link"), strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	res := tools.Result{Text: b.String(), Summary: spelling.Plural(len(found), "link")}
	if in.Query == "" { // a part of them is not what the artifact stands for
		return turn.Bind(res, "links", found)
	}
	res.Artifacts = map[string]json.RawMessage{}
	return res, nil
}

// givenLinks reads links that an agent was given: a list, or names with
// addresses.
func givenLinks(v json.RawMessage) map[string]string {
	out := map[string]string{}
	var list []link
	if json.Unmarshal(v, &list) == nil {
		for _, l := range list {
			if u, err := fetch.ParseURL(l.URL); err == nil {
				name := l.Name
				if name == "" {
					name = fetch.Redacted(u)
				}
				out[fetch.OneLine(name, 100)] = u.String()
			}
		}
		return out
	}
	var named map[string]string
	if json.Unmarshal(v, &named) == nil {
		for name, s := range named {
			if u, err := fetch.ParseURL(s); err == nil {
				out[fetch.OneLine(name, 100)] = u.String()
			}
		}
	}
	return out
}

// A Config is the operator's configuration of these tools. Its zero value is ready: then
// models name addresses themselves and cannot search.
type Config struct {
	Feeds     map[string]string          `yaml:"feeds"` // by the name that models use
	Calendars map[string]calendar.Source `yaml:"calendars"`
	Search    Search                     `yaml:"search"`
	Links     map[string]string          `yaml:"links"`

	// Cache is a directory for answers that servers let us ask about again at
	// little cost. Empty keeps none.
	Cache string `yaml:"-"`
	// Getenv gives the values of variables that hold keys; nil is os.Getenv.
	Getenv func(string) string `yaml:"-"`
	// Now is the clock; nil is time.Now.
	Now func() time.Time `yaml:"-"`
}

// A Search is the endpoint of web_search.
type Search struct {
	Engine string `yaml:"engine"` // searxng or brave
	URL    string `yaml:"url"`    // of a SearxNG; Brave's own if empty
	KeyEnv string `yaml:"key_env"`
}

// Engines are the valid values of Search.Engine.
var Engines = []string{"searxng", "brave"}

// Part is the research part: its tools and their section.
func Part() adroit.Part {
	return adroit.Part{Name: "research", About: "Read feeds, calendars and pages, search, check links and cite.", Section: func() adroit.Section { return &Config{} }}
}

// Key is the section's.
func (c *Config) Key() string { return "research" }

// Settings are its keys.
func (c *Config) Settings() []adroit.PartSetting {
	return []adroit.PartSetting{
		{Key: "feeds.NAME", About: "A feed that rss_feed knows by this name"},
		{Key: "calendars.NAME.url", About: "An .ics address (also a Google calendar's), or a CalDAV collection; `config show` shows its host only"},
		{Key: "calendars.NAME.kind", About: "`ics`, or `caldav` to ask the server by CalDAV"},
		{Key: "calendars.NAME.user", About: "The user name, if it wants one"},
		{Key: "calendars.NAME.key_env", About: "The environment variable with the password"},
		{Key: "search.engine", About: "Who searches for web_search: `searxng` or `brave`; without it nobody does"},
		{Key: "search.url", About: "The address of the SearxNG, whose settings must list json under search.formats"},
		{Key: "search.key_env", About: "The environment variable with the key; Brave needs one"},
		{Key: "links.NAME", About: "An address that static_links lists"},
	}
}

// Check checks addresses, and that the search engine has what it needs.
func (c *Config) Check(fault func(err error, hint string, keys ...string)) {
	for _, m := range []struct {
		key string
		of  map[string]string
	}{{"feeds", c.Feeds}, {"links", c.Links}} {
		for _, name := range slices.Sorted(maps.Keys(m.of)) {
			if err := checkAddress(m.of[name]); err != nil {
				fault(fmt.Errorf("research.%s.%s: %w", m.key, name, err), "for example https://go.dev/blog/feed.atom", m.key, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Calendars)) {
		s := c.Calendars[name]
		if s.Kind != "" && s.Kind != "ics" && s.Kind != "caldav" {
			fault(fmt.Errorf("research.calendars.%s.kind is %q", name, s.Kind), "it is ics or caldav", "calendars", name, "kind")
		}
		if err := checkAddress(strings.Replace(s.URL, "webcal://", "https://", 1)); err != nil {
			fault(fmt.Errorf("research.calendars.%s.url: %w", name, err), "for example https://example.org/team.ics", "calendars", name, "url")
		}
	}
	switch s := c.Search; {
	case s.Engine == "" && (s.URL != "" || s.KeyEnv != ""), s.Engine != "" && !slices.Contains(Engines, s.Engine):
		fault(fmt.Errorf("research.search.engine is %q", s.Engine), "it is one of "+strings.Join(Engines, ", "), "search", "engine")
	case s.Engine == "searxng" && s.URL == "", s.URL != "" && checkAddress(s.URL) != nil:
		fault(fmt.Errorf("research.search.url is %q", s.URL), "it is the address of your SearxNG, for example http://searx.lan:8080", "search", "url")
	case s.Engine == "brave" && s.KeyEnv == "":
		fault(errors.New("research.search: brave needs key_env"), "it names the variable that holds the key", "search", "key_env")
	}
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

// Secrets are the variables with the password of each calendar and the key of the search.
func (c *Config) Secrets() []string {
	out := []string{c.Search.KeyEnv}
	for _, name := range slices.Sorted(maps.Keys(c.Calendars)) {
		out = append(out, c.Calendars[name].KeyEnv)
	}
	return slices.DeleteFunc(out, func(name string) bool { return name == "" })
}

// Tools returns the section's tools, which share a cache.
func (c *Config) Tools(h adroit.PartHost) []tools.Tool {
	own := *c
	own.Getenv, own.Now = h.Getenv, h.Now
	if h.Data != "" {
		own.Cache = filepath.Join(h.Data, "cache", "web")
	}
	return Tools(own)
}

// Tools are the tools of this package as c sets them up.
func Tools(c Config) []tools.Tool {
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	d := &webTools{Config: c, cache: &fetch.Cache{Dir: c.Cache}}
	return tools.Bundle{
		Required: []tools.Tool{d.pageTool(), d.searchTool(), d.citeTool()},
		Optional: []tools.Tool{d.feedTool(), calendar.Tool(calendar.Config{Calendars: c.Calendars, Cache: c.Cache, Getenv: c.Getenv, Now: c.Now}), d.linksTool(), d.checkTool()},
	}.Tools()
}

// webTools is the configuration and cache that the tools share. It is safe for concurrent use.
type webTools struct {
	Config
	cache *fetch.Cache
}
