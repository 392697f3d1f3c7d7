package file

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/tools/edit"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// WriteInput is the input of write_file.
type WriteInput struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

//go:embed write_file.md
var writeProse string

// Write is the tool write_file. Writing the same content twice is writing it
// once.
var Write = tools.New(tools.Metadata{
	Name: "write_file", Category: "code",
	Needs: tools.Read | tools.Write, Paths: []string{"path"}, Effect: tools.Idempotent,
	Examples: []tools.Example{{Note: "a new file", Args: json.RawMessage(`{"path":"hello.txt","content":"hello\n"}`)}},
}.Prose(writeProse), write)

func write(_ context.Context, env *tools.Env, in WriteInput) (tools.Result, error) {
	if strings.ContainsRune(in.Content, 0) {
		return tools.Result{}, errors.New("content holds a NUL byte: write_file writes text only")
	}
	content, note := unwrap(in.Path, in.Content), ""
	if content != in.Content {
		note = "; the fence around the content was left out"
	}
	switch _, err := env.Files.Stat(in.Path); {
	case errors.Is(err, fs.ErrNotExist):
		return create(env.Files, in.Path, content, note)
	case err != nil:
		return tools.Result{}, err
	}
	if err := env.Files.Fresh(in.Path); err != nil {
		return tools.Result{}, err
	}
	t, err := env.Files.ReadText(in.Path)
	if err != nil { // not text so far: what is written is all there will be
		return create(env.Files, in.Path, content, note)
	}
	was := t.Content
	t.Content = strings.ReplaceAll(content, "\r\n", "\n")
	if t.Content, err = edit.AsSent(was, t.Content); err != nil {
		return tools.Result{}, fmt.Errorf("%s: %w", in.Path, err)
	}
	t.Content = end(was, t.Content)
	if err := edit.Whole(in.Path, was, t.Content); err != nil {
		return tools.Result{}, fmt.Errorf("%s: %w", in.Path, err)
	}
	if t.Content == was {
		text := spelling.PathLine(in.Path) + " holds exactly this already; nothing was changed"
		return tools.Result{Text: text, Summary: text}, nil
	}
	if err := env.Files.WriteText(in.Path, t); err != nil {
		return tools.Result{}, err
	}
	text := fmt.Sprintf("%s replaced, %s, %s%s", spelling.PathLine(in.Path), count(t.Content), edit.Difference(was, t.Content), note)
	return tools.Result{Text: text, Summary: text}, nil
}

// end gives content the end that the file has: hardly anybody means to add or
// take away its last newline, unless that is all there is to the change.
func end(was, content string) string {
	bare, had := strings.CutSuffix(content, "\n")
	switch has := strings.HasSuffix(was, "\n"); {
	case was == "" || content == "" || has == had || bare == strings.TrimSuffix(was, "\n"):
		return content
	case has:
		return content + "\n"
	}
	return bare
}

func create(files *workspace.Files, name, content, note string) (tools.Result, error) {
	if err := edit.Whole(name, "", content); err != nil {
		return tools.Result{}, fmt.Errorf("%s: %w", name, err)
	}
	if err := files.WriteFile(name, []byte(content)); err != nil {
		return tools.Result{}, err
	}
	text := fmt.Sprintf("%s created, %s%s", spelling.PathLine(name), count(content), note)
	return tools.Result{Text: text, Summary: text}, nil
}

func count(content string) string {
	n := strings.Count(content, "\n")
	if content != "" && !strings.HasSuffix(content, "\n") {
		n++
	}
	return spelling.Plural(n, "line")
}

var opening = lazyregexp.New("^\\s*```[\\w+#.-]*\\s*$")

// unwrap takes off the fence, and the line with the path above it, in which
// models put whole files. A document may begin and end with a fence of its own.
func unwrap(name, s string) string {
	ls := strings.Split(strings.TrimRight(s, "\n"), "\n")
	at := 0
	if head := strings.Trim(ls[0], "*`# :"); head == name || head == path.Base(name) {
		at = 1
	} else if ext := strings.ToLower(path.Ext(name)); ext == ".md" || ext == ".markdown" || ext == ".rst" || ext == ".txt" {
		return s
	}
	last := len(ls) - 1
	if last-at < 1 || !opening.MatchString(ls[at]) || strings.TrimSpace(ls[last]) != "```" {
		return s
	}
	return strings.Join(ls[at+1:last], "\n") + "\n"
}
