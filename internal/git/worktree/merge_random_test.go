package worktree

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/dev/workspacetest"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// scribble makes random changes in dir. Each line it writes occurs only once, and begins with who.
func scribble(t *testing.T, rnd *rand.Rand, dir, who string) {
	t.Helper()
	n := 0
	line := func() string { n++; return fmt.Sprintf("%s wrote %d\n", who, n) }
	for range 2 + rnd.IntN(6) {
		var names []string
		for p := range dirtest.Lines(t, dir) {
			names = append(names, p)
		}
		slices.Sort(names)
		name := names[rnd.IntN(len(names))]
		at := filepath.Join(dir, name)
		lines := strings.SplitAfter(dirtest.Content(t, at), "\n")
		i := rnd.IntN(len(lines))
		switch rnd.IntN(10) {
		case 0, 1, 2:
			dirtest.Write(t, at, strings.Join(slices.Insert(lines, i, line()), ""))
		case 3, 4:
			lines[i] = line()
			dirtest.Write(t, at, strings.Join(lines, ""))
		case 5:
			dirtest.Write(t, at, strings.Join(slices.Delete(lines, i, min(i+2, len(lines))), ""))
		case 6:
			dirtest.Write(t, filepath.Join(dir, fmt.Sprintf("new%d/n%d", rnd.IntN(3), rnd.IntN(3))), line()+line())
		case 7:
			dirtest.Must(t, os.MkdirAll(filepath.Join(dir, "moved"), 0o755))
			dirtest.Must(t, os.Rename(at, filepath.Join(dir, "moved", fmt.Sprint(rnd.IntN(5)))))
		case 8:
			if len(names) > 4 {
				dirtest.Must(t, os.Remove(at))
			}
		case 9:
			dirtest.Must(t, os.Chmod(at, []fs.FileMode{0o600, 0o644, 0o755}[rnd.IntN(3)]))
		}
	}
}

// Whatever several do at once, and the user besides: every line that one of
// them wrote and left is here when all is joined, or was reported with the path
// it is in and is still in the copy. And all of it can be undone.
func TestJoinLosesNothing(t *testing.T) {
	first := testenv.Seed(t)
	for seed := first; seed < first+30; seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 7))
			f, led, dir := workspacetest.Open(t)
			for i := range 6 {
				var text strings.Builder
				for j := range 25 {
					fmt.Fprintf(&text, "line %d of file %d\n", j, i)
				}
				dirtest.Write(t, filepath.Join(dir, fmt.Sprintf("d%d/f%d", i%2, i)), text.String())
			}
			var copies []*Copy
			var ledgers []*ledger.Ledger
			for range 2 + rnd.IntN(3) {
				c := twinned(t, dir, "")
				l, err := ledger.Open(filepath.Join(t.TempDir(), "ledger"), nil)
				dirtest.Must(t, err)
				copies, ledgers = append(copies, c), append(ledgers, l)
			}
			for i, c := range copies {
				s, err := ledgers[i].Snapshot(t.Context(), c.Dir())
				dirtest.Must(t, err)
				scribble(t, rnd, c.Dir(), fmt.Sprint("child ", i))
				if _, err := s.Record(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			scribble(t, rnd, dir, "the user")
			before := dirtest.WorkTree(t, dir)
			merged := 0
			for i, c := range copies {
				theirs, ours := dirtest.Lines(t, c.Dir()), dirtest.Lines(t, dir)
				j, err := c.Merge(t.Context(), f.At(fmt.Sprint(i)), ledgers[i])
				dirtest.Must(t, err)
				now := dirtest.Lines(t, dir)
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
						if !reported[p] || !strings.Contains(dirtest.Content(t, filepath.Join(j.Kept, p)), l) {
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
			if u, err := led.Undo(t.Context(), dir); err != nil || len(u.Skipped) > 0 {
				t.Errorf("undo: %+v, %v", u, err)
			}
			if after := dirtest.WorkTree(t, dir); !slices.Equal(after, before) {
				t.Errorf("undo did not bring everything back:\n%s", dirtest.Diff(before, after))
			}
			if merged == 0 {
				t.Log("nothing was brought back this time")
			}
		})
	}
}
