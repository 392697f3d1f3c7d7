package workspace

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scribble makes random changes in dir. Each line it writes is in no other
// place, and begins with who.
func scribble(t *testing.T, rnd *rand.Rand, dir, who string) {
	t.Helper()
	n := 0
	line := func() string { n++; return fmt.Sprintf("%s wrote %d\n", who, n) }
	for range 2 + rnd.IntN(6) {
		var names []string
		for p := range linesOf(t, dir) {
			names = append(names, p)
		}
		slices.Sort(names)
		name := names[rnd.IntN(len(names))]
		at := filepath.Join(dir, name)
		lines := strings.SplitAfter(content(t, at), "\n")
		i := rnd.IntN(len(lines))
		switch rnd.IntN(10) {
		case 0, 1, 2:
			write(t, at, strings.Join(slices.Insert(lines, i, line()), ""))
		case 3, 4:
			lines[i] = line()
			write(t, at, strings.Join(lines, ""))
		case 5:
			write(t, at, strings.Join(slices.Delete(lines, i, min(i+2, len(lines))), ""))
		case 6:
			write(t, filepath.Join(dir, fmt.Sprintf("new%d/n%d", rnd.IntN(3), rnd.IntN(3))), line()+line())
		case 7:
			must(t, os.MkdirAll(filepath.Join(dir, "moved"), 0o755))
			must(t, os.Rename(at, filepath.Join(dir, "moved", fmt.Sprint(rnd.IntN(5)))))
		case 8:
			if len(names) > 4 {
				must(t, os.Remove(at))
			}
		case 9:
			must(t, os.Chmod(at, []fs.FileMode{0o600, 0o644, 0o755}[rnd.IntN(3)]))
		}
	}
}

// linesOf are the lines of each file.
func linesOf(t *testing.T, dir string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		out[rel] = strings.SplitAfter(content(t, p), "\n")
		return nil
	}))
	return out
}

// Whatever several do at once, and the user besides: every line that one of
// them wrote and left is here when all is joined, or was reported with the path
// it is in and is still in the copy. And all of it can be undone.
func TestJoinLosesNothing(t *testing.T) {
	first := rand.Uint64()
	for seed := first; seed < first+30; seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 7))
			f, led, dir := open(t)
			for i := range 6 {
				var text strings.Builder
				for j := range 25 {
					fmt.Fprintf(&text, "line %d of file %d\n", j, i)
				}
				write(t, filepath.Join(dir, fmt.Sprintf("d%d/f%d", i%2, i)), text.String())
			}
			var copies []*Copy
			var ledgers []*Ledger
			for range 2 + rnd.IntN(3) {
				c := twinned(t, dir, "")
				l, err := OpenLedger(filepath.Join(t.TempDir(), "ledger"))
				must(t, err)
				copies, ledgers = append(copies, c), append(ledgers, l)
			}
			for i, c := range copies {
				s, err := ledgers[i].Snapshot(t.Context(), c.Dir())
				must(t, err)
				scribble(t, rnd, c.Dir(), fmt.Sprint("child ", i))
				if _, err := s.Record(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			scribble(t, rnd, dir, "the user")
			before := visible(t, dir)
			merged := 0
			for i, c := range copies {
				theirs, ours := linesOf(t, c.Dir()), linesOf(t, dir)
				j, err := c.Join(t.Context(), f.At(fmt.Sprint(i)), ledgers[i])
				must(t, err)
				now := linesOf(t, dir)
				here := map[string]bool{}
				for _, lines := range now {
					for _, l := range lines {
						here[l] = true
					}
				}
				reported := map[string]bool{}
				for _, s := range j.Conflicts {
					reported[s.Path] = true
				}
				for p, lines := range theirs {
					for _, l := range lines {
						if !strings.HasPrefix(l, "child ") || here[l] {
							continue
						}
						if !reported[p] || !strings.Contains(content(t, filepath.Join(j.Kept, p)), l) {
							t.Errorf("%q of %s in copy %d is lost: %+v", l, p, i, j)
						}
					}
				}
				for p, lines := range ours { // nor is anything lost that others wrote
					for _, l := range lines {
						if !here[l] && !strings.HasPrefix(l, "line ") {
							t.Errorf("%q of %s went when copy %d was joined: %+v", l, p, i, j)
						}
					}
				}
				for _, p := range j.Paths {
					if reported[p] {
						t.Errorf("%s was brought and is in conflict", p)
					}
					merged++
				}
			}
			if u, err := led.Undo(dir); err != nil || len(u.Skipped) > 0 {
				t.Errorf("undo: %+v, %v", u, err)
			}
			if after := visible(t, dir); !slices.Equal(after, before) {
				t.Errorf("undo did not bring everything back:\n%s", differ(before, after))
			}
			if merged == 0 {
				t.Log("nothing was brought back this time")
			}
		})
	}
}
