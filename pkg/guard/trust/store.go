package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/guard/permit"
)

// A Store keeps the operator's decisions in one file that only they can read. It is safe
// for concurrent use, also by several processes.
type Store struct{ dir string }

// In returns the store of a data directory. Nothing is made before something
// is said.
func In(dir string) *Store { return &Store{dir} }

// Check looks at a directory.
func (s *Store) Check(dir string) (Status, error) { return s.CheckAs(dir, "") }

// CheckAs looks at a directory of a work tree that the caller itself has made of
// the one at root, and knows that by more than what lies in it: what was said of
// a file there holds for the same content here. Nothing can be recorded of it.
func (s *Store) CheckAs(dir, root string) (Status, error) {
	st, err := look(dir)
	if err != nil {
		return st, err
	}
	b, err := s.read()
	if err != nil {
		return st, err
	}
	known := b.Roots[st.Root]
	if root != "" {
		real, err := filepath.EvalSymlinks(root)
		if err != nil {
			return st, fmt.Errorf("looking at the project: %w", err)
		}
		known = b.Roots[real]
	}
	for i := range st.Files {
		f := &st.Files[i]
		if f.State == Never {
			continue
		}
		was, ok := known.Files[f.Path]
		switch {
		case !ok:
			f.State = New
		case was.Hash != f.Hash:
			f.State = Changed
		case was.Trust:
			f.State = Trusted
		default:
			f.State = refused
		}
	}
	for p := range known.Files {
		gone := !slices.ContainsFunc(st.Files, func(f File) bool { return f.Path == p })
		if gone && !st.Partial && st.covers(p) {
			st.Removed = append(st.Removed, p)
		}
	}
	slices.Sort(st.Removed)
	return st, nil
}

// A book is the content of the file.
type book struct {
	Version int             `json:"version"`
	Roots   map[string]page `json:"roots"`
}

type page struct {
	Files map[string]word `json:"files"`
	Rules []rule          `json:"rules,omitempty"` // which a person has kept for the project
	Since time.Time       `json:"since"`
}

// A word is the decision about one content of one file.
type word struct {
	Hash  string `json:"sha256"`
	Trust bool   `json:"trust"`
}

func (s *Store) path() string { return filepath.Join(s.dir, "trust.json") }

// Record stores of files of a status, as they were when it was made, whether they
// are trusted, and forgets those that are gone.
func (s *Store) Record(st Status, files []File, trust bool) error {
	return s.change(func(b *book) bool {
		p, ok := b.Roots[st.Root]
		if !ok || p.Files == nil {
			p = page{Files: map[string]word{}}
		}
		for _, f := range files {
			if f.State != Never && f.Hash != "" {
				p.Files[f.Path] = word{f.Hash, trust}
			}
		}
		for _, gone := range st.Removed {
			delete(p.Files, gone)
		}
		p.Since = time.Now().UTC().Truncate(time.Second)
		b.Roots[st.Root] = p
		return true
	})
}

// A rule was kept for commands in a sandbox.
type rule struct {
	permit.Rule
	Network bool `json:"network,omitempty"` // they had the network
}

// Allow keeps a rule that allows a command in the work tree that dir is in, for later jobs whose
// commands are in a sandbox, too, and have the network only if network is set.
// A rule that takes rights away, or allows more than a command, is refused.
func (s *Store) Allow(dir string, r permit.Rule, network bool) error {
	if r.Do != permit.Allow || r.Command == "" || r.Tool == "" {
		return fmt.Errorf("the rule %s allows no command of one tool, and is not kept", r)
	}
	if err := r.Check(); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("keeping what is trusted: %w", err)
	}
	return s.change(func(b *book) bool {
		p := b.Roots[top(real)]
		kept := rule{r, network}
		if slices.Contains(p.Rules, kept) {
			return false
		}
		if p.Files == nil {
			p.Files = map[string]word{}
		}
		p.Rules, p.Since = append(p.Rules, kept), time.Now().UTC().Truncate(time.Second)
		b.Roots[top(real)] = p
		return true
	})
}

// Rules returns the rules kept for the work tree that dir is in, and for commands with the network
// if network is set.
func (s *Store) Rules(dir string, network bool) (permit.Rules, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("reading what is trusted: %w", err)
	}
	b, err := s.read()
	var out permit.Rules
	for _, r := range b.Roots[top(real)].Rules {
		if r.Network || !network {
			out = append(out, r.Rule)
		}
	}
	return out, err
}

// Revoke forgets all that was said of the work tree that dir is in, and reports
// whether that was anything. The directory need not exist any more.
func (s *Store) Revoke(dir string) (bool, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return false, err
	}
	keys := []string{abs}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		keys = append(keys, real, top(real))
	}
	had := false
	err = s.change(func(b *book) bool {
		for _, k := range keys {
			if _, ok := b.Roots[k]; ok {
				delete(b.Roots, k)
				had = true
			}
		}
		return had
	})
	return had, err
}

// A Place is a work tree that something was said of.
type Place struct {
	Root    string   `json:"root"`
	Trusted []string `json:"trusted"` // paths of files
	Refused []string `json:"refused,omitempty"`
	// Allowed are the commands that a person always allows there.
	Allowed []permit.Rule `json:"allowed,omitempty"`
	Since   time.Time     `json:"since"`
}

// List has the places, sorted.
func (s *Store) List() ([]Place, error) {
	b, err := s.read()
	if err != nil {
		return nil, err
	}
	var out []Place
	for _, root := range slices.Sorted(maps.Keys(b.Roots)) {
		p := Place{Root: root, Since: b.Roots[root].Since}
		for _, r := range b.Roots[root].Rules {
			p.Allowed = append(p.Allowed, r.Rule)
		}
		for _, f := range slices.Sorted(maps.Keys(b.Roots[root].Files)) {
			if b.Roots[root].Files[f].Trust {
				p.Trusted = append(p.Trusted, f)
			} else {
				p.Refused = append(p.Refused, f)
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// read takes the file as it is. One that others could have written says
// nothing.
func (s *Store) read() (book, error) {
	b := book{Version: 1, Roots: map[string]page{}}
	info, err := os.Lstat(s.path())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // the data directory is none, which is an error where it is opened
		return b, nil
	}
	if err != nil {
		return b, fmt.Errorf("reading what is trusted: %w", err)
	}
	if sys, ok := info.Sys().(*syscall.Stat_t); !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || ok && int(sys.Uid) != os.Geteuid() {
		return b, fmt.Errorf("%s is a link or can be written by others: nothing is trusted until it is removed", s.path())
	}
	if dir, err := os.Stat(s.dir); err != nil || dir.Mode().Perm()&0o002 != 0 {
		return b, fmt.Errorf("everybody can write to %s: nothing is trusted until that is put right (chmod 700)", s.dir)
	}
	raw, err := os.ReadFile(s.path())
	if err != nil {
		return b, fmt.Errorf("reading what is trusted: %w", err)
	}
	if err := json.Unmarshal(raw, &b); err != nil || b.Version != 1 {
		return book{Version: 1}, fmt.Errorf("%s cannot be read (%v): nothing is trusted until it is removed", s.path(), err)
	}
	if b.Roots == nil {
		b.Roots = map[string]page{}
	}
	return b, nil
}

// change rewrites the file while no other process does.
func (s *Store) change(do func(*book) bool) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("keeping what is trusted: %w", err)
	}
	unlock, err := lock.Open(s.path() + ".lock")
	if err != nil {
		return fmt.Errorf("keeping what is trusted: %w", err)
	}
	defer unlock()
	b, err := s.read()
	if err != nil {
		return err
	}
	if !do(&b) {
		return nil
	}
	raw, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		return err
	}
	if err := rootfs.WriteFile(s.path(), append(raw, '\n')); err != nil {
		return fmt.Errorf("keeping what is trusted: %w", err)
	}
	return nil
}
