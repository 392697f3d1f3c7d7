package blog

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
)

// writeInput is the input of write_content.
type writeInput struct {
	Title string `json:"title,omitempty" jsonschema:"description=Put above the text unless it begins with one"`
	Text  string `json:"text" jsonschema:"minLength=1,description=The whole post as Markdown"`
}

//go:embed write_content.md
var writeProse string

// Write is the tool write_content. It changes what later calls are given, so
// that it is not run beside them.
var Write = tools.New(tools.Metadata{
	Name: "write_content", Category: tools.Content, Effect: tools.Idempotent, Produces: []string{"content"},
	Examples: []tools.Example{{Note: "a short post", Args: json.RawMessage(`{"title":"We moved","text":"Our office is now at the harbour.\n\nCome and see us."}`)}},
}.Prose(writeProse), func(_ context.Context, _ *tools.Env, in writeInput) (tools.Result, error) {
	text := strings.TrimSpace(in.Text)
	if text == "" {
		return tools.Result{}, errors.New("text is empty: pass the whole post")
	}
	if title := strings.TrimSpace(in.Title); title != "" && !strings.HasPrefix(text, "# ") {
		text = "# " + oneLine(title) + "\n\n" + text
	}
	return post(text)
})

// post is the result of a tool that makes the content.
func post(text string) (tools.Result, error) {
	n := utf8.RuneCountInString(text)
	r, err := result(fmt.Sprintf("The post has %s (%d characters).", spelling.Plural(words(text), "word"), n), "content", text)
	return r, err
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
