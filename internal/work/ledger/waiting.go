package ledger

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// A Waiting is what a command has changed and no tree has yet: the command was killed with
// its runner, or what it left could not be brought into the workspace. [Ledger.Recover]
// brings it there.
type Waiting struct {
	Dir   string   // has it, and nothing else does
	Paths []string // in the workspace, of what was made, changed or removed; sorted
}

// FindWaiting finds what waits in the ledger in dir, without opening it. There may be
// commands that still run: whoever asks knows that the job does not.
func FindWaiting(dir string) ([]Waiting, error) {
	notes, err := filepath.Glob(filepath.Join(dir, "overlays", "*", "overlay.json"))
	if err != nil {
		return nil, err
	}
	var all []Waiting
	for _, note := range notes {
		b, err := os.ReadFile(note)
		var n struct{ Pending string }
		if errors.Is(err, fs.ErrNotExist) || err == nil && json.Unmarshal(b, &n) != nil {
			continue // joined meanwhile, or no command began with it
		} else if err != nil {
			return nil, err
		}
		_, gone := os.Lstat(filepath.Join(dir, n.Pending))
		w := Waiting{Dir: filepath.Join(filepath.Dir(note), "upper")}
		if w.Paths, err = leaves(w.Dir, n.Pending != "" && gone == nil); err != nil {
			return nil, err
		}
		if len(w.Paths) > 0 {
			all = append(all, w)
		}
	}
	return all, nil
}

// leaves are the names below dir that have none below them; without empty, those of
// directories are left out, which stay where what was in them has been joined.
func leaves(dir string, empty bool) (names []string, err error) {
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case p == dir:
			return nil
		}
		if d.IsDir() {
			if !empty {
				return nil
			}
			if in, err := os.ReadDir(p); err != nil || len(in) > 0 {
				return err
			}
		}
		rel, err := filepath.Rel(dir, p)
		names = append(names, filepath.ToSlash(rel))
		return err
	})
	slices.Sort(names)
	return names, err
}
