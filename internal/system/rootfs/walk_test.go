package rootfs

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// A walk finds what is there, whatever was done since the walks before it, and lists only
// what has changed.
func TestWalkDir(t *testing.T) {
	seed := testenv.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	self, err := root.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	dirs := []string{"."}
	change := func() { // where it can be made
		at := filepath.Join(dir, dirs[r.IntN(len(dirs))], fmt.Sprint(r.IntN(4)))
		switch r.IntN(6) {
		case 0, 1:
			_ = os.WriteFile(at, nil, 0o600)
		case 2:
			if os.Mkdir(at, 0o700) == nil {
				rel, _ := filepath.Rel(dir, at)
				dirs = append(dirs, rel)
			}
		case 3:
			_ = os.RemoveAll(at)
		case 4:
			_ = os.Symlink("..", at)
		case 5:
			_ = os.Rename(at, filepath.Join(dir, fmt.Sprint(r.IntN(4))))
		}
	}
	type entry interface {
		Name() string
		IsDir() bool
		Type() fs.FileMode
	}
	walk := func(walk func(fn func(p string, d entry, err error) error) error) (found []string) {
		err := walk(func(p string, d entry, err error) error {
			if err != nil {
				return err
			}
			found = append(found, p+" "+d.Type().String())
			if d.IsDir() && d.Name() == "3" {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		return found
	}
	ours := func(fn func(p string, d entry, err error) error) error {
		return WalkDir(root, ".", func(p string, e *Entry, err error) error { return fn(p, e, err) })
	}
	var walks Walks[[]string]
	listed := 0
	seen := func() []string {
		found, err := walks.Find(root, dir, func(s *Seen) (found []string, err error) {
			listed++
			err = s.WalkDir(root, ".", func(p string, e *Entry, err error) error {
				if err != nil {
					return err
				}
				found = append(found, p+" "+e.Type().String())
				if _, err := os.Lstat(filepath.Join(dir, p, "2")); e.IsDir() && e.Has("2") != (err == nil) {
					t.Errorf("seed %d: Has is wrong of %s", seed, p)
				}
				if e.IsDir() && e.Name() == "3" {
					return fs.SkipDir
				}
				return nil
			})
			return found, err
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		return found
	}
	for i := range 40 {
		for range r.IntN(12) {
			change()
		}
		if i%3 == 0 {
			time.Sleep(ClockGranularity + 5*time.Millisecond) // lists are kept from here
		}
		for range 2 {
			want := walk(func(fn func(p string, d entry, err error) error) error {
				return fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error { return fn(p, d, err) })
			})
			got := walk(ours)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d: found\n%q, not\n%q", seed, got, want)
			}
			if got := seen(); !slices.Equal(got, want) {
				t.Fatalf("seed %d: kept\n%q, not\n%q", seed, got, want)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(ClockGranularity + 5*time.Millisecond)
	walk(ours)
	if !notesChanges(int(self.Fd())) {
		return // no list is kept here
	}
	seen()
	if listed = 0; seen() == nil || listed > 0 {
		t.Error("a tree that did not change was walked again")
	}
	before := listOf(t, self)
	walk(ours)
	if after := listOf(t, self); len(before) == 0 || len(after) == 0 || &before[0] != &after[0] {
		t.Error("a directory that did not change was listed again")
	}
}

func listOf(t *testing.T, dir *os.File) []Entry {
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	lists.Lock()
	defer lists.Unlock()
	return lists.dirs[FileID(&st)].entries
}
