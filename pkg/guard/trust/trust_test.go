package trust

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// project makes a directory with files, a repository if .git is among them.
func project(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

func check(t *testing.T, s *Store, dir string) Status {
	t.Helper()
	st, err := s.Check(dir)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// states lists files as path=state.
func states(st Status) string {
	var out []string
	for _, f := range st.Files {
		out = append(out, f.Path+"="+string(f.State))
	}
	for _, p := range st.Removed {
		out = append(out, p+"=removed")
	}
	return strings.Join(out, " ")
}

func accept(t *testing.T, s *Store, dir string) {
	t.Helper()
	st := check(t, s, dir)
	if err := s.Record(st, st.Pending(), true); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyWhatChangedIsAskedAgain(t *testing.T) {
	s := In(filepath.Join(t.TempDir(), "data"))
	dir := project(t, t.TempDir(), map[string]string{
		".git/HEAD": "x", "AGENTS.md": "be brief", "sub/CLAUDE.md": "in sub", ".adroit/agents/a.md": "agent",
		".claude/skills/s/SKILL.md": "skill", "README.md": "no", "node_modules/x/AGENTS.md": "no", ".env": "KEY=1",
	})
	st := check(t, s, dir)
	if got, want := states(st), ".adroit/agents/a.md=new .claude/skills/s/SKILL.md=new AGENTS.md=new sub/CLAUDE.md=new"; got != want {
		t.Fatalf("before: %s", got)
	}
	if st.Trusted("AGENTS.md") || st.Trusted(filepath.Join(dir, ".claude/skills")) {
		t.Error("something is trusted before anyone said so")
	}
	if err := s.Record(st, st.Pending(), true); err != nil {
		t.Fatal(err)
	}
	st = check(t, s, dir)
	switch {
	case len(st.Pending()) != 0:
		t.Fatalf("len(st.Pending()) is not 0: after: %s", states(st))
	case !st.Trusted("AGENTS.md"):
		t.Fatalf(`st.Trusted("AGENTS.md") is false: after: %s`, states(st))
	case !st.Trusted(filepath.Join(dir, ".claude", "skills")):
		t.Fatalf(`st.Trusted(filepath.Join(dir, ".claude", "skills")) is false: after: %s`, states(st))
	case st.Trusted("README.md"):
		t.Fatalf(`st.Trusted("README.md") is true: after: %s`, states(st))
	case st.Trusted(dir):
		t.Fatalf("st.Trusted(dir) is true: after: %s", states(st))
	}
	project(t, dir, map[string]string{"AGENTS.md": "be evil", ".claude/skills/s/run.sh": "rm"})
	if err := os.Remove(filepath.Join(dir, "sub/CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	st = check(t, s, dir)
	if got, want := states(st), ".adroit/agents/a.md=trusted .claude/skills/s/SKILL.md=trusted .claude/skills/s/run.sh=new AGENTS.md=changed sub/CLAUDE.md=removed"; got != want {
		t.Fatalf("after changes: %s", got)
	}
	if st.Trusted("AGENTS.md") || st.Trusted(".claude/skills") || !st.Trusted(".adroit/agents/a.md") {
		t.Error("trust did not follow the content")
	}
	if err := s.Record(st, st.Pending(), false); err != nil {
		t.Fatal(err)
	}
	if st = check(t, s, dir); len(st.Pending()) != 0 || len(st.Removed) != 0 || st.Trusted("AGENTS.md") {
		t.Errorf("after a refusal: %s", states(st))
	}
	if had, err := s.Revoke(filepath.Join(dir, "sub")); !had || err != nil {
		t.Fatal(had, err)
	}
	if st = check(t, s, dir); len(st.Pending()) != 4 {
		t.Errorf("after revoking: %s", states(st))
	}
}

// TestNoInheritance: each place looks as if it belonged to a trusted one.
func TestNoInheritance(t *testing.T) {
	s := In(t.TempDir())
	base := t.TempDir()
	good := project(t, filepath.Join(base, "good"), map[string]string{".git/HEAD": "x", "AGENTS.md": "words", "sub/AGENTS.md": "words"})
	accept(t, s, good)
	if st := check(t, s, filepath.Join(good, "sub")); !st.Trusted("AGENTS.md") || st.Root != good {
		t.Fatalf("a directory of the trusted tree: root %s, %s", st.Root, states(st))
	}
	if st := check(t, s, filepath.Join(good, "sub")); !st.Trusted(filepath.Join(good, "AGENTS.md")) || len(st.Removed) > 0 {
		t.Errorf("what the top says, from a directory below: %s, %v", states(st), st.Removed)
	}
	if err := os.Symlink(good, filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	if st := check(t, s, filepath.Join(base, "link")); !st.Trusted("AGENTS.md") || st.Root != good {
		t.Errorf("the same place by another name: %s in %s", states(st), st.Root)
	}
	none := func(what, dir string) {
		t.Helper()
		if st := check(t, s, dir); st.Trusted("AGENTS.md") || slices.ContainsFunc(st.Files, func(f File) bool { return f.State == Trusted }) {
			t.Errorf("%s inherited trust: %s", what, states(st))
		}
	}
	none("a copy", project(t, filepath.Join(base, "copy"), map[string]string{".git/HEAD": "x", "AGENTS.md": "words"}))
	none("a .git file", project(t, filepath.Join(base, "file"), map[string]string{".git": "gitdir: " + good + "/.git", "AGENTS.md": "words"}))
	none("a commondir", project(t, filepath.Join(base, "common"), map[string]string{".git/commondir": good + "/.git", "AGENTS.md": "words"}))
	inner := project(t, filepath.Join(good, "inner"), map[string]string{".git": "gitdir: ../.git", "AGENTS.md": "words"})
	none("a nested repository", inner)
	if st := check(t, s, good); strings.Contains(states(st), "inner") {
		t.Errorf("a nested repository is looked at from outside: %s", states(st))
	}
	out := project(t, filepath.Join(base, "out"), map[string]string{"skills/x/SKILL.md": "evil"})
	if err := os.MkdirAll(filepath.Join(good, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(out, "skills"), filepath.Join(good, ".claude/skills")); err != nil {
		t.Fatal(err)
	}
	accept(t, s, good)
	if st := check(t, s, good); st.Trusted(".claude/skills") || st.Trusted(".claude/skills/x/SKILL.md") {
		t.Errorf("a linked directory inherited trust: %s", states(st))
	}
	moved := filepath.Join(base, "moved")
	if err := os.Rename(good, moved); err != nil {
		t.Fatal(err)
	}
	none("a renamed directory", moved)
}

func TestLinksAndLargeFilesAreNeverTrusted(t *testing.T) {
	s := In(t.TempDir())
	dir := project(t, t.TempDir(), map[string]string{"real.txt": "words", ".adroit/agents/big.md": strings.Repeat("x", maxFile+1)})
	if err := os.Symlink("real.txt", filepath.Join(dir, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	accept(t, s, dir)
	st := check(t, s, dir)
	if got := states(st); got != ".adroit/agents/big.md=never AGENTS.md=never" {
		t.Errorf("%s", got)
	}
	for _, f := range st.Files {
		if f.Why == "" {
			t.Errorf("%s: no reason is given", f.Path)
		}
	}
}

func TestFS(t *testing.T) {
	s := In(t.TempDir())
	dir := project(t, t.TempDir(), map[string]string{".adroit/agents/a.md": "agent a", ".adroit/agents/b.md": "agent b", "secret.txt": "x"})
	accept(t, s, dir)
	st := check(t, s, dir)
	fsys := st.FS()
	if err := fstest.TestFS(fsys, ".adroit/agents/a.md", ".adroit/agents/b.md"); err != nil {
		t.Error(err)
	}
	if _, err := fsys.Open("secret.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file nobody trusts: %v", err)
	}
	// Changed between the check and the reading.
	project(t, dir, map[string]string{".adroit/agents/a.md": "agent x"})
	if b, err := fs.ReadFile(fsys, ".adroit/agents/a.md"); err == nil {
		t.Errorf("read %q, which nobody trusts", b)
	}
	if b, err := fs.ReadFile(fsys, ".adroit/agents/b.md"); err != nil || string(b) != "agent b" {
		t.Errorf("read %q, %v", b, err)
	}
}

func TestStoreFile(t *testing.T) {
	data := filepath.Join(t.TempDir(), "new", "data")
	s := In(data)
	dir := project(t, t.TempDir(), map[string]string{"AGENTS.md": "words"})
	accept(t, s, dir)
	for _, name := range []string{"trust.json", "trust.json.lock", "."} {
		info, err := os.Stat(filepath.Join(data, name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	file := filepath.Join(data, "trust.json")
	if err := os.Chmod(data, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Check(dir); err == nil || !strings.Contains(err.Error(), "everybody can write") {
		t.Errorf("a directory that everybody can write: %v", err)
	}
	if err := os.Chmod(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Check(dir); err == nil || !strings.Contains(err.Error(), "written by others") {
		t.Errorf("a store that others can write: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "theirs.json")
	project(t, dir, map[string]string{"theirs.json": "{}"})
	if err := os.Symlink(target, file); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(Status{Root: dir}, nil, true); err == nil {
		t.Error("a linked store was written")
	}
	if b, _ := os.ReadFile(target); string(b) != "{}" {
		t.Errorf("the target of the link became %q", b)
	}
}

func TestConcurrentRecords(t *testing.T) {
	s := In(t.TempDir())
	var wg sync.WaitGroup
	var dirs []string
	for range 8 {
		dirs = append(dirs, project(t, t.TempDir(), map[string]string{"AGENTS.md": "words"}))
	}
	for _, d := range dirs {
		wg.Go(func() {
			if st, err := s.Check(d); err != nil || s.Record(st, st.Pending(), true) != nil {
				t.Error(d, err)
			}
		})
	}
	wg.Wait()
	places, err := s.List()
	if err != nil || len(places) != len(dirs) {
		t.Fatalf("%d of %d places are known: %v", len(places), len(dirs), err)
	}
}
