package process

import (
	"crypto/rand"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// A baseline is the state of trees on which one command is checked, in a file, so that commands of
// all processes that begin while it runs use the same state, rather than its changes. It is two
// files: the one with the names of the trees is locked as long as the command runs, the other
// until the state in it is complete.
type baseline struct {
	running, state *os.File
	earlier        []*os.File // states of commands that run in the same trees
	// dead are the states of commands in the same trees whose processes were killed, where nothing
	// was locked: nobody has checked what these commands made.
	dead []*treeState
}

// A treeState is the state of a command's trees when the first of the commands that overlap with
// it began.
type treeState struct {
	Trees  []string
	Held   map[string]heldNode // backups, by absolute name
	Before map[string]bool     // what was found
	Links  map[string]string
	Repos  map[rootfs.ID]repoState
	// Unlocked is set where protected files are restored rather than locked.
	Unlocked bool
}

type heldNode struct{ Node *node } // nil: too large

type repoState struct {
	Had   map[string]bool
	Execs []string
}

const runningSuffix = ".running"

// openBaseline begins the baseline of a command in a directory. It is called before any
// inspection: a command that is not among the earlier ones has ended, and its restored files will
// be found.
func openBaseline(dir string, scans []*scan) (_ *baseline, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("noting what a command must not change: %w", err)
		}
	}()
	var trees []string
	for _, s := range scans {
		trees = append(trees, s.tree.Dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err := lock.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	b := &baseline{}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	for _, e := range entries {
		if name := filepath.Join(dir, e.Name()); e.Name() != "lock" && !strings.HasSuffix(name, runningSuffix) {
			if err := b.meet(name, trees); err != nil {
				return nil, err
			}
		}
	}
	name := filepath.Join(dir, rand.Text())
	if b.state, err = lockedFile(name); err != nil {
		return nil, err
	}
	if b.running, err = lockedFile(name + runningSuffix); err != nil {
		return nil, err
	}
	return b, gob.NewEncoder(b.running).Encode(trees)
}

// meet records another baseline if its command runs in one of the trees, and removes the remains
// of a killed process.
func (b *baseline) meet(name string, trees []string) error {
	running, err := os.Open(name + runningSuffix)
	if err == nil {
		defer running.Close()
		if lock.Held(running) {
			var theirs []string
			if err := gob.NewDecoder(running).Decode(&theirs); err != nil {
				return err
			}
			if !overlap(theirs, trees) {
				return nil
			}
			state, err := os.Open(name)
			switch {
			case err == nil:
				b.earlier = append(b.earlier, state)
			case !errors.Is(err, fs.ErrNotExist): // it has just ended
				return err
			}
			return nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dead, here := deadState(name, trees)
	if dead != nil && !here {
		return nil // its state waits for a command there
	}
	if dead != nil {
		b.dead = append(b.dead, dead)
	}
	_, _ = os.Remove(name+runningSuffix), os.Remove(name) // what stays is removed by the next command
	return nil
}

// overlap reports whether one of some trees lies in one of the others.
func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return rootfs.Within(x, y) || rootfs.Within(y, x) })
	})
}

// deadState returns the state that a killed process left, or nil if it has none or had locked
// everything that must not change, and whether its trees overlap with trees.
func deadState(name string, trees []string) (_ *treeState, here bool) {
	f, err := os.Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	s := new(treeState)
	if gob.NewDecoder(f).Decode(s) != nil || !s.Unlocked || !slices.ContainsFunc(s.Trees, rootfs.Exists) {
		return nil, false
	}
	return s, overlap(s.Trees, trees)
}

// anyDead reports whether a process that was killed left a state for a tree.
func anyDead(dir, tree string) bool {
	entries, _ := os.ReadDir(dir) // what cannot be read has none
	for _, e := range entries {
		name, isRunning := strings.CutSuffix(filepath.Join(dir, e.Name()), runningSuffix)
		if !isRunning {
			continue
		}
		f, err := os.Open(name + runningSuffix)
		if err != nil {
			continue
		}
		held := lock.Held(f)
		_ = f.Close()
		if s, here := deadState(name, []string{tree}); !held && s != nil && here {
			return true
		}
	}
	return false
}

// lockedFile makes a file that nobody else has.
func lockedFile(name string) (*os.File, error) {
	f, err := lock.Create(name)
	if err != nil {
		return nil, err
	}
	if err := lock.Lock(f); err != nil {
		_, _ = f.Close(), os.Remove(name)
		return nil, err
	}
	return f, nil
}

// others returns the states of the commands that began earlier, when they are whole.
func (b *baseline) others() (states []*treeState, err error) {
	for _, f := range b.earlier {
		s := new(treeState)
		err := lock.Lock(f)
		if err == nil {
			err = gob.NewDecoder(f).Decode(s)
		}
		_ = lock.Close(f)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			continue // it was killed, or refused, before its command began
		}
		if err != nil {
			return nil, fmt.Errorf("noting what a command must not change: %w", err)
		}
		states = append(states, s)
	}
	b.earlier = nil
	return states, nil
}

// write lets commands that begin later go by a state.
func (b *baseline) write(s treeState) error {
	err := gob.NewEncoder(b.state).Encode(s)
	if err == nil {
		err = lock.Close(b.state)
		b.state = nil
	}
	if err != nil {
		return fmt.Errorf("noting what a command must not change: %w", err)
	}
	return nil
}

// close ends the baseline. No command that begins from now on uses it.
func (b *baseline) close() {
	if b == nil {
		return
	}
	for _, f := range b.earlier {
		_ = f.Close()
	}
	if b.running != nil {
		name := b.running.Name()
		_, _ = os.Remove(strings.TrimSuffix(name, runningSuffix)), os.Remove(name)
		_ = lock.Close(b.running)
	}
	if b.state != nil {
		_, _ = os.Remove(b.state.Name()), lock.Close(b.state)
	}
	b.earlier, b.state, b.running = nil, nil, nil
}

// covers reports whether a name lies in the trees.
func (s *treeState) covers(at string) bool {
	return slices.ContainsFunc(s.Trees, func(t string) bool { return rootfs.Within(t, at) })
}
