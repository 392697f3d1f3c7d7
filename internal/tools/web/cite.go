package web

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/tools/internal/fetch"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed cite.md
var citeProse string

// citeInput is what cite takes.
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
	}.Prose(citeProse), d.cite)
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
	v, err := json.Marshal(list)
	if err != nil {
		return tools.Result{}, tools.Fatal(err)
	}
	text := fmt.Sprintf("%s %s [%d]; %s so far:\n%s", c.Title, how, c.Number, fetch.Count(len(list), "citation"), references(list))
	return tools.Result{Text: text, Summary: fmt.Sprintf("[%d] %s", c.Number, c.Title), Artifacts: map[string]json.RawMessage{"citations": v}}, nil
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
