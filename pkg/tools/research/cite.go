package research

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed cite.md
var citeProse string

// CiteInput is what cite takes.
type CiteInput struct {
	URL   string `json:"url" jsonschema:"description=Address of the source"`
	Title string `json:"title" jsonschema:"description=Its title"`
	Quote string `json:"quote,omitempty" jsonschema:"description=The words that are relied on"`
}

// A Citation is one entry of the artifact "citations", which is a list of
// them in the order of their numbers.
type Citation struct {
	Number   int    `json:"number"`
	URL      string `json:"url"`
	Title    string `json:"title"`
	Quote    string `json:"quote,omitempty"`
	Accessed string `json:"accessed"` // the day, in UTC
}

// mostCited bounds the artifact, which travels with the job's state.
const mostCited = 200

func (d *desk) citeTool() tools.Tool {
	return tools.New(tools.Metadata{
		// Not pure: calls of one answer each see the list of the one before.
		Name: "cite", Category: tools.Research, Effect: tools.Idempotent, Uses: []string{"citations"}, Produces: []string{"citations"},
		Examples: []tools.Example{{Note: "rely on a release note", Args: json.RawMessage(`{"url":"https://go.dev/doc/go1.26","title":"Go 1.26 Release Notes","quote":"The latest Go release"}`)}},
	}.Prose(citeProse), d.cite)
}

func (d *desk) cite(_ context.Context, env *tools.Env, in CiteInput) (tools.Result, error) {
	u, err := address(in.URL)
	if err != nil {
		return tools.Result{}, err
	}
	c := Citation{URL: u.String(), Title: line(in.Title, 300), Quote: line(in.Quote, 1000), Accessed: d.Now().UTC().Format(time.DateOnly)}
	if c.Title == "" {
		return tools.Result{}, errors.New("title is empty: give the title of the page, as web_fetch shows it")
	}
	var list []Citation
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

func cited(list []Citation, c Citation, how string) (tools.Result, error) {
	v, err := json.Marshal(list)
	if err != nil {
		return tools.Result{}, tools.Fatal(err)
	}
	text := fmt.Sprintf("%s %s [%d]; %s so far:\n%s", c.Title, how, c.Number, count(len(list), "citation"), References(list))
	return tools.Result{Text: text, Summary: fmt.Sprintf("[%d] %s", c.Number, c.Title), Artifacts: map[string]json.RawMessage{"citations": v}}, nil
}

// References lists citations as the end of a Markdown text has them.
func References(list []Citation) string {
	escape := strings.NewReplacer(`[`, `\[`, `]`, `\]`, `<`, `\<`, "`", "\\`", `*`, `\*`, `_`, `\_`)
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "%d. [%s](<%s>), accessed %s", c.Number, escape.Replace(c.Title), strings.NewReplacer("<", "%3C", ">", "%3E").Replace(c.URL), c.Accessed)
		b.WriteByte('\n')
	}
	return b.String()
}
