package file

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/tools"
)

// WriteInput is the input of write_file.
type WriteInput struct {
	Path    string `json:"path" jsonschema:"description=File"`
	Content string `json:"content" jsonschema:"description=All of it"`
}

//go:embed write_file.md
var writeProse string

// Write is the tool write_file. Writing the same content twice is writing it
// once.
var Write = tools.New(tools.Metadata{
	Name: "write_file", Category: tools.Code,
	Needs: tools.Read | tools.Write, Paths: []string{"path"}, Effect: tools.Idempotent,
	Examples: []tools.Example{{Note: "a new file", Args: json.RawMessage(`{"path":"hello.txt","content":"hello\n"}`)}},
}.Prose(writeProse), write)

func write(_ context.Context, env *tools.Env, in WriteInput) (tools.Result, error) {
	if strings.ContainsRune(in.Content, 0) {
		return tools.Result{}, errors.New("content holds a NUL byte: write_file writes text only")
	}
	verb := "replaced"
	if _, err := env.Files.Stat(in.Path); err != nil {
		verb = "created" // or WriteFile says what is wrong with the name
	}
	if err := env.Files.WriteFile(in.Path, []byte(in.Content)); err != nil {
		return tools.Result{}, err
	}
	n := strings.Count(in.Content, "\n")
	if in.Content != "" && !strings.HasSuffix(in.Content, "\n") {
		n++
	}
	text := fmt.Sprintf("%s %s, %d lines", in.Path, verb, n)
	return tools.Result{Text: text, Summary: text}, nil
}
