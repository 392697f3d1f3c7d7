package web

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/tools/internal/fetch"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed static_links.md
var linksProse string

// linksInput is what static_links takes.
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
	}.Prose(linksProse)
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
		fmt.Fprintf(&b, "None of %s fits. There are: %s\n", fetch.Count(len(all), "link"), strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	res := tools.Result{Text: b.String(), Summary: fetch.Count(len(found), "link")}
	if in.Query == "" { // a part of them is not what the artifact stands for
		v, err := json.Marshal(found)
		if err != nil {
			return tools.Result{}, tools.Fatal(err)
		}
		res.Artifacts = map[string]json.RawMessage{"links": v}
	} else {
		res.Artifacts = map[string]json.RawMessage{}
	}
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
