package navigate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

const (
	mostRanked  = 300    // declarations of a map
	mostPerFile = 12     // of them, of one file
	mostSorted  = 10_000 // declarations that can be among them
	maxMap      = 12_000 // bytes, about 4,000 tokens
)

// A rankedFile is a file with those of its declarations that others use most.
type rankedFile struct {
	name  string
	score float64
	syms  []tools.Symbol
}

// repoMap shows the declarations that most files use, for a folder that is too
// large for an outline of everything.
func (c code) repoMap(ctx context.Context, entries []workspace.Entry) (tools.Result, error) {
	found := c.index(ctx, entries, func(string) bool { return true })
	if err := ctx.Err(); err != nil {
		return tools.Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[%d files: the declarations that most of them use, first the most used files; narrow by path for all of a folder]\n", len(entries))
	total, shown := 0, 0
	for _, f := range indexOf(c.env.Files.Dir()).rank(found) {
		text, err := c.read(f.name)
		if err != nil {
			continue // gone meanwhile
		}
		if b.Len() > maxMap {
			break
		}
		write(&b, f.name, text, f.syms)
		total += len(f.syms)
		shown++
	}
	return tools.Result{Text: b.String(), Summary: fmt.Sprintf("the %d most used declarations, in %s of %d", total, spelling.Plural(shown, "file"), len(entries))}, nil
}

// rank chooses the declarations that most other files use by name. A name that
// many files declare says little of any of them.
func (x *index) rank(found []indexedFile) []*rankedFile {
	type scored struct {
		score     float64
		file, sym int
	}
	var all []scored
	x.mu.Lock()
	for i, f := range found {
		for j, s := range f.syms {
			n := x.names[f.declares[j]]
			score := float64(n.users) / float64(max(n.declared*n.declared, 1))
			if n.users > 1 && score >= 1 && len(s.Name) > 2 { // the file itself is one of them
				all = append(all, scored{score, i, j})
			}
		}
	}
	x.mu.Unlock()
	for least := 2.0; len(all) > mostSorted; least *= 2 {
		all = slices.DeleteFunc(all, func(d scored) bool { return d.score < least })
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.file, b.file), cmp.Compare(a.sym, b.sym))
	})
	by := map[int]*rankedFile{}
	var files []*rankedFile
	left := mostRanked
	for _, d := range all {
		f, s := by[d.file], found[d.file].syms[d.sym]
		if f == nil {
			f = &rankedFile{name: s.File}
			by[d.file], files = f, append(files, f)
		}
		if len(f.syms) < mostPerFile {
			f.syms = append(f.syms, s)
			f.score += d.score
			left--
		}
		if left == 0 {
			break
		}
	}
	for _, f := range files {
		slices.SortFunc(f.syms, func(a, b tools.Symbol) int { return cmp.Compare(a.Line, b.Line) })
	}
	slices.SortStableFunc(files, func(a, b *rankedFile) int { return cmp.Compare(b.score, a.score) })
	return files
}
