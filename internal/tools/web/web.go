// Package web has the tools that read the web: feeds, pages and searches, and
// those that cite sources and check links.
//
//	set, err := tools.NewSet(web.Tools(web.Config{
//		Feeds: map[string]string{"go": "https://go.dev/blog/feed.atom"},
//	})...)
//
// All of it goes through Env.HTTP, which decides how far it reaches: see
// pkg/guard/netguard. What servers return is untrusted text, bounded in size and
// time.
package web

import (
	"os"
	"time"

	"github.com/adroit-run/adroit/internal/tools/internal/fetch"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Config is what the operator sets up for these tools. Its zero value is
// ready: then models name addresses themselves and cannot search.
type Config struct {
	Feeds  map[string]string // by the name that models use
	Search Search
	Links  map[string]string

	// Cache is a directory for answers that servers let us ask about again at
	// little cost. Empty keeps none.
	Cache string
	// Getenv gives the values of variables that hold keys; nil is os.Getenv.
	Getenv func(string) string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// A Search is the endpoint of web_search.
type Search struct {
	Engine string // searxng or brave
	URL    string // of a SearxNG; Brave's own if empty
	KeyEnv string
}

// Engines are the valid values of Search.Engine.
var Engines = []string{"searxng", "brave"}

// Tools are the tools of this package as c sets them up.
func Tools(c Config) []tools.Tool { return Bundle(c).Tools() }

// Bundle is the same with what is presented as required and what as optional.
func Bundle(c Config) tools.Bundle {
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	d := &webTools{Config: c, cache: &fetch.Cache{Dir: c.Cache}}
	return tools.Bundle{
		Name: "web", Description: "Read feeds and pages, search, check links and cite.",
		Required: []tools.Tool{d.pageTool(), d.searchTool(), d.citeTool()},
		Optional: []tools.Tool{d.feedTool(), d.linksTool(), d.checkTool()},
	}
}

// webTools is the configuration and cache that the tools share. It is safe for concurrent use.
type webTools struct {
	Config
	cache *fetch.Cache
}
