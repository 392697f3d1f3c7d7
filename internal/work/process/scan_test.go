package process

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// seen lists everything a scan has found, without the way it found it.
func (s *scan) seen() []string {
	var out []string
	for _, dir := range slices.Sorted(maps.Keys(s.dirs)) {
		d := s.dirs[dir]
		out = append(out, fmt.Sprintf("%s: %v %v %v", dir, sorted(d.below), sorted(d.found), d.bare))
	}
	return out
}

// sorted renders a directory's findings in a fixed order.
func sorted[T any](all []T) []string {
	var out []string
	for _, e := range all {
		out = append(out, fmt.Sprint(e))
	}
	slices.Sort(out)
	return out
}

func scanned(t testing.TB, dir string) *scan {
	t.Helper()
	tree, err := rootfs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return newScan(tree, nil)
}

func (s *scan) must(t testing.TB) {
	t.Helper()
	if err := s.update(); err != nil {
		t.Fatal(err)
	}
}

// After any changes, a scan that reads only changed directories has the same result as one that
// reads everything.
func TestScanKeepsUp(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "c", ".env", "x.pem", ".git", ".vscode", ".kube", "config", ".ssh", "HEAD", "objects", "refs", ".github", "workflows", ".npmrc"}
	pick := func() string {
		parts := make([]string, 1+rng.IntN(4))
		for i := range parts {
			parts[i] = names[rng.IntN(len(names))]
		}
		return filepath.Join(dir, filepath.Join(parts...))
	}
	c := scanned(t, dir)
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
		c.must(t)
		fresh := newScan(c.tree, nil)
		fresh.must(t)
		if got, want := c.seen(), fresh.seen(); !slices.Equal(got, want) {
			t.Fatalf("after step %d:\n%s\nwant\n%s", step, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// A second scan reads only changed directories.
func TestScanIsCheap(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system does not say when a directory changed")
	}
	dir := t.TempDir()
	for i := range 50 {
		dirtest.Write(t, filepath.Join(dir, fmt.Sprintf("d%d/sub/f", i)), "")
	}
	c := scanned(t, dir)
	c.must(t)
	if c.read != 101 {
		t.Errorf("the first look reads %d directories, want 101", c.read)
	}
	c.cost = 1 << 40
	for _, r := range c.dirs { // as if that had been a while ago
		r.checked = r.checked.Add(2 * rootfs.ClockGranularity)
	}
	c.must(t)
	if c.read != 0 {
		t.Errorf("a second look reads %d directories, want none", c.read)
	}
	dirtest.Write(t, filepath.Join(dir, "d7/sub/.env"), "")
	c.must(t)
	if c.read != 1 || len(c.dirs["d7/sub"].found) != 1 {
		t.Errorf("after one change %d directories are read, want 1", c.read)
	}
}

// The quick judgement never lets a name through that the list has.
func TestSuspects(t *testing.T) {
	n := &rootfs.DenyList{Deny: []string{"private", "*.secret", "deep/er", "a[0-9]*", "x?y"}, Allow: []string{"*.key"}}
	for _, names := range []*rootfs.DenyList{nil, n} {
		s := rootfs.NewClassifier(names)
		for _, p := range []string{".git", ".env", ".env.local", ".ENV", "x.pem", "X.PEM", "id_rsa", "id_rsa.bak", ".kube/config", ".config/gh", ".config/gcloud", "adroit.db-wal",
			"client_secret_1.json", ".m2/settings.xml", "private", "x.secret", "deep/er", "a1b", "xzy", "main.go", "README.md", "config", "a", "k.key", ".ｅnv", "id_rsa. ", "x.pem:ads"} {
			denied := names.Check(p, p, false) != nil
			if last := rootfs.Fold(filepath.Base(p)); denied && !s.Maybe(last) {
				t.Errorf("%q is denied and taken for harmless", p)
			}
		}
		for _, p := range []string{"main.go", "README.md", "b", "index.test.js"} {
			if s.Maybe(p) {
				t.Errorf("%q is taken for a secret", p)
			}
		}
	}
}

// The quick way to fold plain names is the slow one.
func TestFoldPlain(t *testing.T) {
	for c := byte(' '); c <= '~'; c++ {
		s := "a" + string(c) + "B"
		if !rootfs.IsPlain(s) || strings.ToLower(s) != rootfs.FoldUnicode(s) {
			t.Errorf("%q is folded to %q and %q", s, strings.ToLower(s), rootfs.FoldUnicode(s))
		}
	}
	for _, s := range []string{"é", "a\x00", "\u200bgit", "ＧＩＴ"} {
		if rootfs.IsPlain(s) {
			t.Errorf("%q is taken for plain", s)
		}
	}
}

// What was in a guarded directory, or in one that is hidden as a secret, stays.
func TestScanLeavesWhatWasThere(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".claude/worktrees/x/.git", ".ssh/repo/.git", ".idea/y/.git"} {
		dirtest.Write(t, filepath.Join(dir, name), "gitdir: /elsewhere\n")
	}
	s := scanned(t, dir)
	check := func(command func()) string {
		t.Helper()
		p, err := protect([]*scan{s}, nil, "", t.TempDir(), false)
		if err != nil {
			t.Fatal(err)
		}
		command()
		return p.check(&removed{dir: t.TempDir()}, func(string, string) bool { return false })
	}
	if got := check(func() {}); got != "" {
		t.Errorf("what was there before is taken for the command's: %s", got)
	}
	got := check(func() {
		dirtest.Write(t, filepath.Join(dir, ".ssh/repo2/.git"), "gitdir: /elsewhere/2\n")
		dirtest.Write(t, filepath.Join(dir, "sub/.git"), "gitdir: /elsewhere/2\n")
	})
	if strings.Count(got, " was made by the command") != 2 || rootfs.Exists(filepath.Join(dir, "sub/.git")) || rootfs.Exists(filepath.Join(dir, ".ssh/repo2/.git")) {
		t.Errorf("taken away is %q", got)
	}
}

// BenchmarkScan scans a workspace of 10,000 files in 1,000 directories.
func BenchmarkScan(b *testing.B) {
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
	tree := scanned(b, dir).tree
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			newScan(tree, nil).must(b)
		}
	})
	b.Run("again", func(b *testing.B) {
		c := newScan(tree, nil)
		c.must(b)
		c.cost = 1 << 40
		for _, r := range c.dirs {
			r.checked = r.checked.Add(2 * rootfs.ClockGranularity)
		}
		for b.Loop() {
			c.must(b)
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/scan")
	})
}
