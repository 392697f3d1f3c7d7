package blog

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/tools/internal/outputs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// writeInput is the input of write_content.
type writeInput struct {
	Title   string   `json:"title,omitempty" jsonschema:"description=Put above the text unless it begins with one"`
	Text    string   `json:"text" jsonschema:"minLength=1,description=The whole post as Markdown"`
	Short   bool     `json:"short,omitempty" jsonschema:"description=The user asked for fewer than 500 characters"`
	Own     []string `json:"own_figures,omitempty" jsonschema:"description=Figures that need no source: the user's; those counted in the post"`
	Sources string   `json:"sources,omitempty" jsonschema:"description=Heading of the list of sources"`
}

// shortest and longest bound what write_content takes as short, in characters.
const (
	shortest = 20
	longest  = 500
)

//go:embed write_content.md
var writeProse string

// Write is the tool write_content. It changes what later calls are given, so
// that it is not run beside them.
var Write = tools.New(tools.Metadata{
	Name: "write_content", Category: "content", Effect: tools.Idempotent, Uses: []string{"citations", outputs.FigureFamily}, Produces: []string{"content", "announcement", ownFigures},
	Examples: []tools.Example{{Note: "a short post", Args: json.RawMessage(`{"title":"We moved","text":"Our office is now at the harbour.\n\nCome and see us.","short":true}`)}},
}.Prose(writeProse), func(_ context.Context, env *tools.Env, in writeInput) (tools.Result, error) {
	text := strings.TrimSpace(in.Text)
	if text == "" {
		return tools.Result{}, errors.New("text is empty: pass the whole post")
	}
	if n := utf8.RuneCountInString(text); in.Short && (n < shortest || n >= longest) {
		return tools.Result{}, fmt.Errorf("the text has %d characters; what is short has %d to %d, so write it that long or leave out short", n, shortest, longest-1)
	}
	if title := strings.TrimSpace(in.Title); title != "" && !strings.HasPrefix(text, "# ") {
		text = "# " + oneLine(title) + "\n\n" + text
	}
	r, err := draft{text, in.Sources, in.Own}.post(env)
	if in.Short && err == nil {
		r.Artifacts["announcement"] = r.Artifacts["content"]
	}
	return r, err
})
