package flowvet

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

const ignore = "//flowvet:ignore"

// An excuse is a comment that takes the faults of its line back.
type excuse struct {
	pos    token.Pos
	reason bool
	used   bool
}

type excused map[string]map[int]*excuse // by file and line

func excuses(pass *analysis.Pass, files []*ast.File) excused {
	x := excused{}
	for _, f := range files {
		for _, g := range f.Comments {
			for _, c := range g.List {
				rest, ok := strings.CutPrefix(c.Text, ignore)
				if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
					continue
				}
				p := pass.Fset.Position(c.Pos())
				if x[p.Filename] == nil {
					x[p.Filename] = map[int]*excuse{}
				}
				x[p.Filename][p.Line] = &excuse{pos: c.Pos(), reason: strings.TrimSpace(rest) != ""}
			}
		}
	}
	return x
}

// drop removes excused faults from all units.
func (c *code) drop(x excused) {
	off := func(pos token.Pos) bool {
		p := c.pass.Fset.Position(pos)
		e := x[p.Filename][p.Line]
		if e == nil || !e.reason {
			return false
		}
		e.used = true
		return true
	}
	for _, u := range c.units {
		u.faults = slices.DeleteFunc(u.faults, func(f fault) bool { return off(f.pos) })
		// What a mention leads to is excused with it.
		u.refs = slices.DeleteFunc(u.refs, func(r ref) bool { return off(r.pos) })
	}
}

// report reports excuses that have no reason, or nothing to excuse.
func (x excused) report(pass *analysis.Pass) {
	for _, lines := range x { // diagnostics are sorted by their driver
		for _, e := range lines {
			switch {
			case !e.reason:
				pass.Reportf(e.pos, "say why: %s is followed by the reason", ignore)
			case !e.used:
				pass.Reportf(e.pos, "%s has nothing to ignore in this line: remove it", ignore)
			}
		}
	}
}
