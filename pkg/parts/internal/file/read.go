// Package file reads, writes and lists the files of the workspace.
//
//	set, err := tools.NewSet(file.Read, file.Write, file.List)
//
// Changing a part of a file is the business of package edit.
package file

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

//go:embed *.md
var descriptions embed.FS

// readInput is the input of read_file.
type readInput struct {
	Path  string `json:"path"`
	From  int    `json:"from,omitempty" jsonschema:"description=First line"`
	Lines int    `json:"lines,omitempty" jsonschema:"description=How many; default 300"`
}

// Read is the tool read_file.
var Read = tools.New(tools.Metadata{
	Name: "read_file", Category: "code", Needs: tools.Read, Paths: []string{"path"},
	Examples: []tools.Example{{Note: "lines 41 to 80", Args: json.RawMessage(`{"path":"cart.go","from":41,"lines":40}`)}},
}.ProseIn(descriptions), read)

const (
	pageLines = 300
	mostLines = 2000
	pageBytes = 40_000 // about 10,000 tokens; a page ends early there
	goOnBytes = 120    // for the line that says how to go on
	lineBytes = 8      // for a line's number
)

func read(_ context.Context, env *tools.Env, in readInput) (tools.Result, error) {
	if in.Lines <= 0 {
		in.Lines = pageLines
	}
	in.Lines = min(in.Lines, mostLines)
	p, err := env.Files.ReadLines(in.Path, max(in.From, 1), in.Lines)
	if err != nil {
		return tools.Result{}, err
	}
	if p.Binary || len(p.Lines) > 0 && turn.ImageType([]byte(p.Lines[0])) != "" {
		if r, ok := show(env, in.Path); ok {
			return r, nil
		}
	}
	switch {
	case p.Binary:
		return tools.Result{}, fmt.Errorf("%s is not text (%d bytes): read_file cannot show it", in.Path, p.Size)
	case p.Total == 0:
		return tools.Result{Text: spelling.PathLine(in.Path) + " is empty.", Summary: spelling.PathLine(in.Path) + " (empty)"}, nil
	case len(p.Lines) == 0:
		return tools.Result{}, fmt.Errorf("%s has %d lines: from must not be above that", in.Path, p.Total)
	}
	most := pageBytes
	if env.MaxResultBytes > 0 {
		most = min(most, env.MaxResultBytes-goOnBytes) // a page that ends early beats one without a middle
	}
	var b strings.Builder
	last := p.From - 1
	for i, l := range p.Lines {
		if i > 0 && b.Len()+len(l)+lineBytes > most {
			p.More = true
			break
		}
		last = p.From + i
		if !env.PlainText {
			fmt.Fprintf(&b, "%d\t", last)
		}
		b.WriteString(l + "\n")
	}
	if p.Cut {
		b.WriteString("[lines that were too long are cut]\n")
	}
	if p.More {
		fmt.Fprintf(&b, "[%s; go on with from=%d]\n", total(p.Total, last), last+1)
	}
	text, page := b.String(), &tools.Page{From: p.From, To: last}
	if env.PlainText && p.From > 1 { // of a page at the beginning its end says where it ends
		text, page.Head = fmt.Sprintf("[lines %d-%d]\n", p.From, last)+text, 1
	}
	return tools.Result{Text: text, Page: page, Summary: fmt.Sprintf("%s %d-%d", spelling.PathLine(in.Path), p.From, last)}, nil
}

// show is the result of reading an image; false if the file is none that models take.
func show(env *tools.Env, name string) (tools.Result, bool) {
	b, err := env.Files.Peek(name, nil, turn.MaxImage+1)
	if err != nil {
		return tools.Result{}, false
	}
	image, err := turn.Image(name, b)
	if err != nil {
		return tools.Result{}, false
	}
	return tools.Result{Text: image.String(), Summary: image.String(), Images: []llm.Image{*image}}, true
}

func total(lines, last int) string {
	if lines < 0 {
		return "more lines follow"
	}
	return fmt.Sprintf("%d of %d lines left", lines-last, lines)
}

// listInput is the input of list_files.
type listInput struct {
	Glob string `json:"glob,omitempty" jsonschema:"description=Like *.go or cmd/**/*.go"`
	Dir  string `json:"dir,omitempty" jsonschema:"description=Where"`
}

// List is the tool list_files.
var List = tools.New(tools.Metadata{
	Name: "list_files", Category: "code", Needs: tools.Read, Paths: []string{"dir"},
	Examples: []tools.Example{{Note: "all Go files", Args: json.RawMessage(`{"glob":"**/*.go"}`)}},
}.ProseIn(descriptions), list)

const mostFiles = 400

// A Listing is list_files' result for programs.
type Listing struct {
	Files []string `json:"files"`          // relative to the workspace, with slashes
	More  bool     `json:"more,omitempty"` // there are others
}

func list(ctx context.Context, env *tools.Env, in listInput) (tools.Result, error) {
	entries, more, err := env.Files.List(ctx, workspace.ListOptions{Glob: in.Glob, Dir: in.Dir, Max: mostFiles, Hidden: true})
	if err != nil {
		return tools.Result{}, err
	}
	var b strings.Builder
	listed := Listing{Files: []string{}, More: more}
	for _, e := range entries {
		b.WriteString(spelling.PathLine(e.Name) + "\n")
		listed.Files = append(listed.Files, e.Name)
	}
	sum := spelling.Plural(len(entries), "file")
	switch {
	case len(entries) == 0:
		b.WriteString("no file matches\n")
	case more:
		sum = "more than " + sum
		fmt.Fprintf(&b, "[%s: narrow by dir or glob]\n", sum)
	}
	return turn.WithValue(tools.Result{Text: b.String(), Summary: sum}, listed)
}

// deleteInput is the input of delete_file.
type deleteInput struct {
	Path string `json:"path"`
}

// Delete is the tool delete_file.
var Delete = tools.New(tools.Metadata{
	Name: "delete_file", Category: "code", Needs: tools.Read | tools.Write, Effect: tools.Unsafe, Paths: []string{"path"},
	Examples: []tools.Example{{Args: json.RawMessage(`{"path":"old.go"}`)}},
}.ProseIn(descriptions), func(_ context.Context, env *tools.Env, in deleteInput) (tools.Result, error) {
	return done(spelling.PathLine(in.Path)+" deleted", env.Files.Remove(in.Path))
})

// moveInput is the input of move_file.
type moveInput struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Move is the tool move_file.
var Move = tools.New(tools.Metadata{
	Name: "move_file", Category: "code", Needs: tools.Read | tools.Write, Effect: tools.Unsafe, Paths: []string{"from", "to"},
	Examples: []tools.Example{{Note: "rename", Args: json.RawMessage(`{"from":"parse.go","to":"limit.go"}`)}},
}.ProseIn(descriptions), func(_ context.Context, env *tools.Env, in moveInput) (tools.Result, error) {
	return done(spelling.PathLine(in.From)+" is "+spelling.PathLine(in.To)+" now", env.Files.Rename(in.From, in.To))
})

func done(text string, err error) (tools.Result, error) {
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Text: text, Summary: text}, nil
}
