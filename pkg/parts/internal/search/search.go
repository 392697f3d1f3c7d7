// Package search finds lines in the files of the workspace.
//
//	set, err := tools.NewSet(search.Tool)
//
// Which lines match is decided by Go's regexp, which takes linear time whatever
// the pattern. No program is started.
package search

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Input of search.
type Input struct {
	Pattern string `json:"pattern"`
	Glob    string `json:"glob,omitempty" jsonschema:"description=Only files like *.go"`
	Dir     string `json:"dir,omitempty" jsonschema:"description=Where"`
	Literal bool   `json:"literal,omitempty" jsonschema:"deprecated,description=Pattern is plain text"`
	Context int    `json:"context,omitempty" jsonschema:"description=Lines around each match"`
	Max     int    `json:"max,omitempty" jsonschema:"deprecated,description=Matches at most; default 100"`
}

//go:embed search.md
var prose string

// Tool is the tool search.
var Tool = tools.New(tools.Metadata{
	Name: "search", Category: "code", Needs: tools.Read, Paths: []string{"dir"}, Effect: tools.Pure,
	Examples: []tools.Example{{Note: "where a function is called", Args: json.RawMessage(`{"pattern":"\\bTotal\\(","glob":"*.go"}`)}},
	Timeout:  2 * patience,
}.Prose(prose), search)

func search(ctx context.Context, env *tools.Env, in Input) (tools.Result, error) {
	if in.Pattern == "" {
		return tools.Result{}, fmt.Errorf("pattern is empty: use list_files to list files")
	}
	src := in.Pattern
	if in.Literal {
		src = regexp.QuoteMeta(src)
	}
	re, err := regexp.Compile(src)
	note := ""
	if err != nil && !strings.Contains(src, "(?") && !strings.Contains(src, `\`) { // they meant the text
		note = fmt.Sprintf("[searched for as plain text: %v]\n", err)
		src = regexp.QuoteMeta(src)
		re, err = regexp.Compile(src)
	}
	if err != nil {
		return tools.Result{}, fmt.Errorf("%w; RE2 syntax is understood, without lookaround and backreferences", err)
	}
	q := query{re: re, context: min(max(in.Context, 0), mostContext), max: usualMatches}
	if in.Max > 0 {
		q.max = min(in.Max, mostMatches)
	}
	// The search as a whole is bounded, and what it found until then is shown.
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	names, more, err := q.candidates(within, env.Files, in)
	if err != nil {
		return tools.Result{}, err
	}
	f := q.run(within, env.Files, names)
	if ctx.Err() != nil {
		return tools.Result{}, ctx.Err()
	}
	f.more = more
	r := f.result(q)
	r.Text = note + r.Text
	return r, nil
}

// candidates are the files to look into, sorted.
func (q *query) candidates(ctx context.Context, files *workspace.Files, in Input) (names []string, more bool, err error) {
	if in.Dir != "" {
		if info, err := files.Stat(in.Dir); err == nil && info.Mode().IsRegular() {
			// Reading through FS takes a clean name only.
			rel := strings.TrimPrefix(strings.TrimPrefix(in.Dir, files.Dir()+"/"), "./")
			return []string{rel}, false, nil
		}
	}
	entries, more, err := files.List(ctx, workspace.ListOptions{Glob: in.Glob, Dir: in.Dir, Max: mostFiles, Hidden: true})
	if err != nil {
		return nil, false, err
	}
	if len(entries) == 0 {
		q.glob = in.Glob
	}
	for _, e := range entries {
		switch {
		case e.Mode&fs.ModeType != 0: // a link's target is listed by its own name
		case e.Size > maxFile:
			q.large = append(q.large, e.Name)
		default:
			names = append(names, e.Name)
		}
	}
	return names, more, nil
}

// Pure is the tool search_text, which is search by its older name.
var Pure = func() tools.Tool {
	m := Tool.Metadata
	m.Name = "search_text"
	return tools.New(m, search)
}()
