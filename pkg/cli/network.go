package cli

import (
	"path/filepath"
	"slices"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/calendar"
	"github.com/adroit-run/adroit/pkg/tools/web"
)

// informed puts the research tools as the configuration sets them up in the
// place of those that know of none.
func (a *app) informed(list []tools.Tool) []tools.Tool {
	c, err := a.config()
	if err != nil {
		return list // whoever needs the configuration says what is wrong with it
	}
	conf := web.Config{Feeds: c.Research.Feeds, Links: c.Research.Links, Getenv: a.Getenv, Now: a.now, Search: web.Search(c.Research.Search)}
	calendars := calendar.Config{Calendars: map[string]calendar.Source{}, Getenv: a.Getenv, Now: a.now}
	for name, s := range c.Research.Calendars {
		calendars.Calendars[name] = calendar.Source{URL: s.URL, CalDAV: s.Kind == "caldav", User: s.User, KeyEnv: s.KeyEnv}
	}
	if dir, err := a.dataDir(); err == nil {
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
