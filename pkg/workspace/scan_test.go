package workspace

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// seen is what a census has found, whatever it took to find it.
func (c *census) seen() []string {
	var out []string
	for _, dir := range slices.Sorted(maps.Keys(c.rooms)) {
		r := c.rooms[dir]
		out = append(out, fmt.Sprintf("%s: %v %v %v %v", dir, r.below, r.gits, r.secret, r.guarded))
	}
	return out
}

// After any changes, a census that reads only what changed has what one has
// that reads everything.
func TestCensusKeepsUp(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "c", ".env", "x.pem", ".git", ".vscode", ".kube", "config", ".ssh"}
	pick := func() string {
		parts := make([]string, 1+rng.IntN(4))
		for i := range parts {
			parts[i] = names[rng.IntN(len(names))]
		}
		return filepath.Join(dir, filepath.Join(parts...))
	}
	c := newCensus(dir, nil)
	c.cost = 1 << 40 // never whole again
	for step := range 400 {
		p := pick()
		switch rng.IntN(6) {
		case 0:
			_ = os.RemoveAll(p) // some of these fail, as a command's do
		case 1:
			_ = os.Rename(p, pick())
		case 2:
			_ = os.Symlink("a", p)
		case 3:
			_ = os.MkdirAll(filepath.Dir(p), 0o755)
			_ = os.WriteFile(p, nil, 0o644)
		default:
			_ = os.MkdirAll(p, 0o755)
		}
		c.count()
		fresh := newCensus(dir, nil)
		fresh.count()
		if got, want := c.seen(), fresh.seen(); !slices.Equal(got, want) {
			t.Fatalf("after step %d:\n%s\nwant\n%s", step, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// A second look reads only what changed.
func TestCensusIsCheap(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system does not say when a directory changed")
	}
	dir := t.TempDir()
	for i := range 50 {
		write(t, filepath.Join(dir, fmt.Sprintf("d%d/sub/f", i)), "")
	}
	c := newCensus(dir, nil)
	c.count()
	if c.read != 101 {
		t.Errorf("the first look reads %d directories, want 101", c.read)
	}
	c.cost = 1 << 40
	for _, r := range c.rooms { // as if that had been a while ago
		r.checked = r.checked.Add(2 * settledIn)
	}
	c.count()
	if c.read != 0 {
		t.Errorf("a second look reads %d directories, want none", c.read)
	}
	write(t, filepath.Join(dir, "d7/sub/.env"), "")
	c.count()
	if c.read != 1 || len(c.rooms[filepath.Join(dir, "d7/sub")].secret) != 1 {
		t.Errorf("after one change %d directories are read, want 1", c.read)
	}
}

// The quick judgement never lets a name through that the list has.
func TestSuspects(t *testing.T) {
	n := &Names{Deny: []string{"private", "*.secret", "deep/er", "a[0-9]*", "x?y"}, Allow: []string{"*.key"}}
	for _, names := range []*Names{nil, n} {
		s := newSuspects(names)
		for _, p := range []string{".git", ".env", ".env.local", ".ENV", "x.pem", "X.PEM", "id_rsa", "id_rsa.bak", ".kube/config", ".config/gh", ".config/gcloud", "adroit.db-wal",
			"client_secret_1.json", ".m2/settings.xml", "private", "x.secret", "deep/er", "a1b", "xzy", "main.go", "README.md", "config", "a", "k.key", ".ｅnv", "id_rsa. ", "x.pem:ads"} {
			denied := names.deny(p, p, false) != nil
			if last := fold(filepath.Base(p)); denied && !s.maybe(last) {
				t.Errorf("%q is denied and taken for harmless", p)
			}
		}
		for _, p := range []string{"main.go", "README.md", "a", "index.test.js"} {
			if s.maybe(p) {
				t.Errorf("%q is taken for a secret", p)
			}
		}
	}
}

// The quick way to fold plain names is the slow one.
func TestFoldPlain(t *testing.T) {
	for c := byte(' '); c <= '~'; c++ {
		s := "a" + string(c) + "B"
		if !plain(s) || strings.ToLower(s) != folding(s) {
			t.Errorf("%q is folded to %q and %q", s, strings.ToLower(s), folding(s))
		}
	}
	for _, s := range []string{"é", "a\x00", "\u200bgit", "ＧＩＴ"} {
		if plain(s) {
			t.Errorf("%q is taken for plain", s)
		}
	}
}

// What was in a guarded directory, or in one that is hidden as a secret, stays.
func TestCensusLeavesWhatWasThere(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".claude/worktrees/x/.git", ".ssh/repo/.git", ".idea/y/.git"} {
		write(t, filepath.Join(dir, name), "gitdir: /elsewhere\n")
	}
	counts := map[string]*census{}
	f := look([]string{dir}, nil, counts)
	if got := f.strangers(); len(got) != 0 {
		t.Errorf("what was there before is taken for the command's: %v", got)
	}
	write(t, filepath.Join(dir, ".ssh/repo2/.git"), "gitdir: /elsewhere\n")
	write(t, filepath.Join(dir, "sub/.git"), "gitdir: /elsewhere\n")
	want := []string{filepath.Join(dir, ".ssh/repo2/.git"), filepath.Join(dir, "sub/.git")}
	if got := f.strangers(); !reflect.DeepEqual(got, want) {
		t.Errorf("new are %v, want %v", got, want)
	}
}

// BenchmarkCensus is a look at a workspace of 10,000 files in 1,000 directories.
func BenchmarkCensus(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		d := filepath.Join(dir, fmt.Sprintf("p%d/q%d", i%20, i))
		if err := os.MkdirAll(d, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 10 {
			if err := os.WriteFile(filepath.Join(d, fmt.Sprintf("file_%d.go", j)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			newCensus(dir, nil).count()
		}
	})
	b.Run("again", func(b *testing.B) {
		c := newCensus(dir, nil)
		c.count()
		c.cost = 1 << 40
		for _, r := range c.rooms {
			r.checked = r.checked.Add(2 * settledIn)
		}
		for b.Loop() {
			c.count()
		}
	})
}
