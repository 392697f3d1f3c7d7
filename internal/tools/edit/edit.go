// Package edit changes a part of a file: the text a model quotes is found,
// strictly if possible and tolerant of space if not, and replaced only where
// there is no doubt which place is meant.
//
//	set, err := tools.NewSet(edit.File)
//
// There is a tool for each form in which models write edits: edit_file takes
// the two texts, edit_blocks search/replace blocks, apply_patch a patch. All
// share one way of finding text ([Match] and the looser rules after it) and
// one of writing it: everything is decided before the first file changes.
//
// It never guesses by likeness: no rule finds a place that lacks a word of what
// was quoted. What comes near is shown to the model, which then quotes it.
package edit

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/adroit-run/adroit/pkg/tools"
)

// Input of edit_file: one replacement, or several in Edits.
type Input struct {
	Path  string  `json:"path"`
	Old   string  `json:"old,omitempty"`
	New   string  `json:"new,omitempty"`
	All   bool    `json:"all,omitempty" jsonschema:"description=Replace every occurrence"`
	Edits []Piece `json:"edits,omitempty" jsonschema:"description=Instead of old and new: several; all or none"`
}

// A Piece is one of several replacements in a file.
type Piece struct {
	Old string `json:"old"`
	New string `json:"new"`
	All bool   `json:"all,omitempty" jsonschema:"deprecated"`
}

//go:embed edit_file.md
var prose string

// File is the tool edit_file. It is not safe to repeat: after "a" became "aa",
// there is an "a" again.
var File = tools.New(tools.Metadata{
	Name: "edit_file", Category: "code", Needs: tools.Read | tools.Write, Effect: tools.Unsafe, Paths: []string{"path"},
	Examples: []tools.Example{
		{Note: "rename", Args: json.RawMessage(`{"path":"cart.go","old":"\tsum := 0\n","new":"\ttotal := 0\n"}`)},
		{Note: "two places", Args: json.RawMessage(`{"path":"cart.go","edits":[{"old":"\tsum := 0\n","new":"\ttotal := 0\n"},{"old":"return sum","new":"return total"}]}`)},
	},
}.Prose(prose), edit)

func edit(_ context.Context, env *tools.Env, in Input) (tools.Result, error) {
	switch {
	case len(in.Edits) > 0 && (in.Old != "" || in.New != ""):
		return tools.Result{}, errors.New("there are both old and edits: put everything into edits, or make one replacement with old and new")
	case len(in.Edits) == 0:
		in.Edits = []Piece{{in.Old, in.New, in.All}}
	}
	p := newPlan(env.Files)
	d, err := p.open(in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	for i, e := range in.Edits {
		if err := d.replace(e.Old, e.New, e.All); err != nil {
			if n := len(in.Edits); n > 1 {
				return tools.Result{}, fmt.Errorf("%s: edit %d of %d does not fit, so none was made: %w", in.Path, i+1, n, err)
			}
			return tools.Result{}, fmt.Errorf("%s: %w", in.Path, err)
		}
	}
	if err := p.commit(); err != nil {
		return tools.Result{}, err
	}
	return p.result(), nil
}
