package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// openTemp returns files over a fresh directory with a ledger beside it.
func openTemp(t *testing.T) (*Files, *ledger.Ledger, string) {
	t.Helper()
	base := t.TempDir()
	dir := filepath.Join(base, "ws")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	led, err := ledger.Open(filepath.Join(base, "ledger"), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(dir, led)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close(); led.Close() })
	return f, led, f.Dir()
}

// ops is every operation that takes a file's name.
func ops(f *Files) map[string]func(name string) error {
	return map[string]func(string) error{
		"ReadFile":   func(n string) error { _, err := f.ReadFile(n); return err },
		"ReadLines":  func(n string) error { _, err := f.ReadLines(n, 1, 10); return err },
		"Peek":       func(n string) error { _, err := f.Peek(n, nil, 10); return err },
		"ReadText":   func(n string) error { _, err := f.ReadText(n); return err },
		"WriteFile":  func(n string) error { return f.WriteFile(n, []byte("evil")) },
		"Replace":    func(n string) error { return f.Replace(n, []byte("secret"), []byte("evil")) },
		"Remove":     f.Remove,
		"RenameFrom": func(n string) error { return f.Rename(n, "elsewhere") },
		"RenameTo":   func(n string) error { return f.Rename("here", n) },
	}
}

// refusedBy checks that each operation refuses each name with a typed error and
// that nothing changed below base.
func refusedBy(t *testing.T, f *Files, base string, names ...string) {
	t.Helper()
	before := dirtest.Tree(t, base)
	for _, name := range names {
		for op, do := range ops(f) {
			var pe *rootfs.PathError
			if err := do(name); !errors.As(err, &pe) {
				t.Errorf("%s(%.60q) = %v, want a *PathError", op, name, err)
			}
		}
	}
	if after := dirtest.Tree(t, base); !slices.Equal(before, after) {
		t.Errorf("something changed:\nbefore %q\nafter  %q", before, after)
	}
}

// Conformance 1 and 4.
func TestNamesThatAreRefused(t *testing.T) {
	f, _, dir := openTemp(t)
	base := filepath.Dir(dir)
	dirtest.Write(t, filepath.Join(base, "x"), "secret")
	dirtest.Write(t, filepath.Join(base, "ws-evil", "f"), "secret")
	dirtest.Write(t, filepath.Join(dir, "here"), "here")
	refusedBy(t, f, base, "", "../x", "a/../../x", "a/../here", "..", ".", filepath.Join(base, "x"), "/etc/passwd",
		filepath.Join(base, "ws-evil", "f"), dir+"-evil/f", "a\x00b", strings.Repeat("n", 5000), strings.Repeat("n", 300),
		"here/", "here/below", dir)
}

func TestAbsoluteNameInside(t *testing.T) {
	f, _, dir := openTemp(t)
	dirtest.Write(t, filepath.Join(dir, "a/b.txt"), "hello")
	b, err := f.ReadFile(filepath.Join(dir, "a/b.txt"))
	if err != nil || string(b) != "hello" {
		t.Fatalf("ReadFile = %q, %v", b, err)
	}
}

// Conformance 2 and 3.
func TestLinksThatLeadOut(t *testing.T) {
	f, _, dir := openTemp(t)
	base := filepath.Dir(dir)
	dirtest.Write(t, filepath.Join(base, "out/secret"), "secret")
	dirtest.Write(t, filepath.Join(dir, "here"), "here")
	for name, target := range map[string]string{
		"relative": "../out/secret", "absolute": filepath.Join(base, "out/secret"), "outdir": "../out", "absdir": filepath.Join(base, "out"),
		"chain": "chain2", "chain2": "relative", "dangling": "../nowhere", "danglingabs": filepath.Join(base, "nowhere"),
		"proc": "/proc/self/root/etc/passwd", "cwd": "/proc/self/cwd", "loop": "loop2", "loop2": "loop", "up": "..",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	refusedBy(t, f, base, "relative", "absolute", "outdir/secret", "outdir/new", "absdir/secret", "chain", "dangling",
		"danglingabs", "proc", "cwd", "cwd/x", "loop", "loop/x", "up/out/secret", "up/ws/here", "outdir/", "relative/")
	for _, name := range []string{"relative", "outdir", "proc", "outdir/secret"} {
		if _, err := f.Stat(name); err == nil {
			t.Errorf("Stat(%q) describes what lies outside", name)
		}
		if _, _, err := f.List(t.Context(), ListOptions{Dir: name}); err == nil {
			t.Errorf("List(%q) lists what lies outside", name)
		}
		if _, err := fs.Stat(f.FS(), name); err == nil {
			t.Errorf("FS opens %q", name)
		}
	}
}

// Conformance 9, the part about links.
func TestLinkInsideIsWrittenThrough(t *testing.T) {
	f, _, dir := openTemp(t)
	dirtest.Write(t, filepath.Join(dir, "real/a"), "old")
	for name, target := range map[string]string{"rel": "real/a", "abs": filepath.Join(dir, "real/a"), "dir": "real"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"rel", "abs", "dir/a"} {
		if err := f.WriteFile(name, []byte("by "+name)); err != nil {
			t.Fatal(err)
		}
		if got := dirtest.Content(t, filepath.Join(dir, "real/a")); got != "by "+name {
			t.Errorf("after writing %s the target has %q", name, got)
		}
	}
	for _, name := range []string{"rel", "abs", "dir"} {
		if info, _ := os.Lstat(filepath.Join(dir, name)); info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no longer a link", name)
		}
	}
	if err := f.Remove("rel"); err != nil {
		t.Fatal(err)
	}
	if got := dirtest.Content(t, filepath.Join(dir, "real/a")); got != "by dir/a" {
		t.Errorf("removing a link changed its target: %q", got)
	}
}

// Conformance 5.
func TestHardLinkIsBroken(t *testing.T) {
	f, _, dir := openTemp(t)
	outside := filepath.Join(filepath.Dir(dir), "outside")
	dirtest.Write(t, outside, "mine")
	if err := os.Link(outside, filepath.Join(dir, "f")); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteFile("f", []byte("changed")); err != nil {
		t.Fatal(err)
	}
	if got := dirtest.Content(t, outside); got != "mine" {
		t.Errorf("the outside file has %q", got)
	}
	if got := dirtest.Content(t, filepath.Join(dir, "f")); got != "changed" {
		t.Errorf("the inside file has %q", got)
	}
}

// Conformance 6. A hang would run into the test's own timeout.
func TestNotRegularFiles(t *testing.T) {
	f, _, dir := openTemp(t)
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, "sock")}); err != nil {
		t.Fatal(err)
	}
	names := []string{"fifo", "sock"}
	if err := unix.Mknod(filepath.Join(dir, "null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err == nil {
		names = append(names, "null")
	} else {
		t.Logf("no device in this test: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	dirtest.Write(t, filepath.Join(dir, "dir/f"), "x") // so that Remove refuses it too
	start := time.Now()
	for _, name := range append(names, "dir") {
		for op, do := range ops(f) {
			if name == "dir" && op == "RenameFrom" {
				continue // a directory may be renamed
			}
			if err := do(name); err == nil {
				t.Errorf("%s(%s) did not fail", op, name)
			}
		}
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("refusing took %v", took)
	}
	for _, name := range names {
		if _, err := f.FS().Open(name); err == nil {
			t.Errorf("FS opens %s", name)
		}
	}
}

// Conformance 9.
func TestModes(t *testing.T) {
	f, _, dir := openTemp(t)
	dirtest.Write(t, filepath.Join(dir, "run.sh"), "old")
	dirtest.Write(t, filepath.Join(dir, "suid"), "old")
	for name, mode := range map[string]uint32{"run.sh": 0o755, "suid": 0o4755} {
		if err := syscall.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"run.sh", "suid", "new", "deep/er/new"} {
		if err := f.WriteFile(name, []byte("new")); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]fs.FileMode{"run.sh": 0o755, "suid": 0o755, "new": 0o644 &^ rootfs.Umask(), "deep/er/new": 0o644 &^ rootfs.Umask()} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, want %v (%v)", name, info.Mode(), want, err)
		}
	}
}

// Conformance 11, across a restart too.
func TestStale(t *testing.T) {
	f, led, dir := openTemp(t)
	dirtest.Write(t, filepath.Join(dir, "f"), "one")
	stale := func(what string, err error) {
		t.Helper()
		var se *rootfs.StaleError
		if !errors.As(err, &se) {
			t.Errorf("%s: %v, want a *StaleError", what, err)
		}
	}
	if _, err := f.ReadFile("f"); err != nil {
		t.Fatal(err)
	}
	dirtest.Write(t, filepath.Join(dir, "f"), "theirs")
	stale("write", f.WriteFile("f", []byte("ours")))
	stale("remove", f.Remove("f"))
	if err := f.Rename("f", "g"); err != nil {
		t.Fatal(err)
	}
	stale("write under a new name", f.WriteFile("g", []byte("ours")))
	if err := f.Rename("g", "f"); err != nil {
		t.Fatal(err)
	}
	stale("replace", f.Replace("f", []byte("one"), []byte("ours")))
	if got := dirtest.Content(t, filepath.Join(dir, "f")); got != "theirs" {
		t.Fatalf("the file has %q", got)
	}
	led.Close()
	again, err := ledger.Open(led.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	f2, err := Open(dir, again)
	if err != nil {
		t.Fatal(err)
	}
	defer f2.Close()
	stale("write after a restart", f2.WriteFile("f", []byte("ours")))
	if _, err := f2.ReadLines("f", 1, 10); err != nil {
		t.Fatal(err)
	}
	if err := f2.WriteFile("f", []byte("ours")); err != nil {
		t.Errorf("write after reading again: %v", err)
	}
	os.Remove(filepath.Join(dir, "f"))
	stale("write of a deleted file", f2.WriteFile("f", []byte("ours again")))
}

// Conformance 12: each of many writers adds one line; none is lost.
func TestNoLostUpdate(t *testing.T) {
	_, _, dir := openTemp(t)
	dirtest.Write(t, filepath.Join(dir, "f"), "")
	const writers, lines = 4, 15
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			f, err := Open(dir, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			for i := 0; i < lines; {
				b, err := f.ReadFile("f")
				if err != nil {
					t.Error(err)
					return
				}
				err = f.WriteFile("f", fmt.Appendf(b, "%d %d\n", w, i))
				var se *rootfs.StaleError
				if errors.As(err, &se) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				i++
			}
		})
	}
	wg.Wait()
	if n := strings.Count(dirtest.Content(t, filepath.Join(dir, "f")), "\n"); n != writers*lines {
		t.Errorf("%d lines, want %d", n, writers*lines)
	}
}

// Conformance 13.
func TestDeniedNames(t *testing.T) {
	f, _, dir := openTemp(t)
	dirtest.Write(t, filepath.Join(dir, "here"), "here")
	dirtest.Write(t, filepath.Join(dir, ".env"), "KEY=1")
	dirtest.Write(t, filepath.Join(dir, ".git/config"), "[core]")
	dirtest.Write(t, filepath.Join(dir, "sub/.kube/config"), "token")
	if err := os.Symlink(".env", filepath.Join(dir, "innocent")); err != nil {
		t.Fatal(err)
	}
	refusedBy(t, f, dir, ".env", ".ENV", ".Env.local", ".env.", ".env ", ".e\u200bnv", ".env\u202e", "\uff0eenv", ".\uff45nv",
		"sub/.env", ".git/config", ".GIT/hooks/pre-commit", ".git", ".git\u200c/config", ".git./config", ".git::$INDEX_ALLOCATION/x", "GIT~1/config",
		"k/server.pem", "server.PEM", "id_rsa", "ID_RSA.bak", "id_r\u017fa", "sub/.kube/config", ".ssh/known", "innocent",
		"./.env", ".//.env")
	for _, name := range []string{".env.example", "environment.go", "config", "kube/config", "git/config", "a.pem.go", "prödukt", "pro\u0308dukt"} {
		if err := f.WriteFile(name, []byte("x")); err != nil {
			t.Errorf("WriteFile(%q): %v", name, err)
		}
	}
	dirtest.Write(t, filepath.Join(dir, ".mcp.json"), "{}")
	if _, err := f.ReadFile(".mcp.json"); err != nil {
		t.Errorf("reading a guarded file: %v", err)
	}
	if err := f.WriteFile(".MCP.json", []byte("x")); err == nil {
		t.Error("a guarded file was written")
	}
	dirtest.Write(t, filepath.Join(dir, "conf/.env"), "KEY=1")
	if err := f.Rename("conf", "conf2"); err == nil {
		t.Error("a directory with a secret in it was renamed")
	}
}

// Two spellings of one name must get one decision, whatever they are.
func FuzzDenyFolds(f *testing.F) {
	for _, s := range []string{".env", ".git/config", "a/id_rsa", "x.pem", "é.txt", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if strings.ContainsAny(name, "/:") {
			return // a slash splits, a colon cuts: not spellings of one name
		}
		want := rootfs.CheckName(name, name, false) != nil
		for how, other := range map[string]string{"upper": strings.ToUpper(name), "dot": name + ".", "space": name + " ",
			"zero width": "\u200b" + name, "joined": name + "\u2060"} {
			//lint:ignore SA6005 EqualFold folds more than the deny list does
			if how == "upper" && strings.ToLower(other) != strings.ToLower(name) {
				continue // not a pair that differs in case alone
			}
			if got := rootfs.CheckName(other, other, false) != nil; got != want {
				t.Errorf("%q denied: %v, but %q (%s): %v", name, want, other, how, got)
			}
		}
	})
}

func TestReplace(t *testing.T) {
	f, _, dir := openTemp(t)
	dirtest.Write(t, filepath.Join(dir, "f"), "one")
	if err := f.Replace("f", []byte("one"), []byte("two")); err != nil {
		t.Fatal(err)
	}
	if err := f.Replace("f", []byte("one"), []byte("three")); err == nil {
		t.Error("Replace with outdated content succeeded")
	}
	if err := f.Replace("none", nil, []byte("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Replace of a missing file = %v", err)
	}
	if got := dirtest.Content(t, filepath.Join(dir, "f")); got != "two" {
		t.Errorf("the file has %q", got)
	}
}

func TestTooLarge(t *testing.T) {
	f, _, dir := openTemp(t)
	dirtest.Write(t, filepath.Join(dir, "big"), "")
	if err := os.Truncate(filepath.Join(dir, "big"), MaxFile+1); err != nil {
		t.Fatal(err)
	}
	var tl *rootfs.TooLargeError
	if _, err := f.ReadFile("big"); !errors.As(err, &tl) {
		t.Errorf("ReadFile = %v", err)
	}
	if err := f.WriteFile("f", make([]byte, MaxFile+1)); !errors.As(err, &tl) {
		t.Errorf("WriteFile = %v", err)
	}
}

// Conformance 7: heap growth stands for RSS, which a test cannot hold still.
func TestPagesOfHugeFiles(t *testing.T) {
	f, _, dir := openTemp(t)
	dirtest.Write(t, filepath.Join(dir, "sparse"), "")
	if err := os.Truncate(filepath.Join(dir, "sparse"), 5<<30); err != nil {
		t.Fatal(err)
	}
	dirtest.Write(t, filepath.Join(dir, "headed"), strings.Repeat("line\n", 4000))
	if err := os.Truncate(filepath.Join(dir, "headed"), 5<<30); err != nil {
		t.Fatal(err)
	}
	dirtest.Write(t, filepath.Join(dir, "oneline"), strings.Repeat("x", 100<<20))
	dirtest.Write(t, filepath.Join(dir, "binary"), "\x7fELF\x00\x01")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	check := func(name string, from int, want func(rootfs.Page) bool) {
		t.Helper()
		p, err := f.ReadLines(name, from, 20)
		if err != nil || !want(p) {
			t.Errorf("%s: %d lines, total %d, more %v, cut %v, binary %v, %v", name, len(p.Lines), p.Total, p.More, p.Cut, p.Binary, err)
		}
	}
	check("sparse", 1, func(p rootfs.Page) bool { return p.Binary && p.Size == 5<<30 })
	check("binary", 1, func(p rootfs.Page) bool { return p.Binary })
	check("headed", 11, func(p rootfs.Page) bool {
		return len(p.Lines) == 20 && p.More && p.Total == -1 && p.Lines[0] == "line"
	})
	check("oneline", 1, func(p rootfs.Page) bool {
		return len(p.Lines) == 1 && p.Cut && len(p.Lines[0]) == rootfs.MaxLine && !p.More
	})
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc) - int64(before.TotalAlloc); grown > 64<<20 {
		t.Errorf("%d MiB were allocated", grown>>20)
	}
}

func TestPages(t *testing.T) {
	f, _, dir := openTemp(t)
	dirtest.Write(t, filepath.Join(dir, "f"), "\xef\xbb\xbfone\r\ntwo\nthree")
	dirtest.Write(t, filepath.Join(dir, "empty"), "")
	dirtest.Write(t, filepath.Join(dir, "latin"), "caf\xe9\n")
	dirtest.Write(t, filepath.Join(dir, "utf16"), "\xff\xfeh\x00i\x00\n\x00")
	for _, c := range []struct {
		name    string
		from, n int
		want    string
	}{
		{"f", 1, 2, "one|two 1 3 true utf-8"}, {"f", 3, 5, "three 3 3 false utf-8"}, {"f", 9, 5, " 9 3 false utf-8"},
		{"f", 0, 1, "one 1 3 true utf-8"}, {"empty", 1, 5, " 1 0 false utf-8"},
		{"latin", 1, 5, "café 1 1 false latin-1"}, {"utf16", 1, 5, "hi 1 1 false utf-16le"},
	} {
		p, err := f.ReadLines(c.name, c.from, c.n)
		got := fmt.Sprintf("%s %d %d %v %s", strings.Join(p.Lines, "|"), p.From, p.Total, p.More, p.Encoding)
		if err != nil || got != c.want {
			t.Errorf("%s from %d: %q, %v; want %q", c.name, c.from, got, err, c.want)
		}
	}
}

func TestFS(t *testing.T) {
	f, _, dir := openTemp(t)
	dirtest.Write(t, filepath.Join(dir, "a/b"), "x")
	dirtest.Write(t, filepath.Join(dir, ".env"), "KEY")
	if err := fstest.TestFS(f.FS(), "a/b"); err != nil {
		t.Error(err)
	}
	names, err := fs.Glob(f.FS(), "*")
	if err != nil || !slices.Equal(names, []string{"a"}) {
		t.Errorf("Glob = %q, %v", names, err)
	}
	h, err := f.FS().Open("a/b")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, ok := h.(interface{ Write([]byte) (int, error) }); ok {
		t.Error("a file of the read-only view can be written to")
	}
}

// Peek reads what FS reads, with and without the short way, and no more than asked.
func TestPeek(t *testing.T) {
	f, _, dir := openTemp(t)
	long := strings.Repeat("0123456789", 1000)
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a/b/long": long, "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": "a/b/long", "d": "a/b"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "a/b/long"), filepath.Join(dir, "hard")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a/b/long", "link", "d/long", "hard", "empty"} {
		for _, limit := range []int64{1, 512, 9_999, 10_000, 10_001, 1 << 20} {
			for _, buf := range [][]byte{nil, make([]byte, 3, 700), make([]byte, 0, 1<<15)} {
				got, err := f.Peek(name, buf, limit)
				want := long[:min(limit, int64(len(long)))]
				if name == "empty" {
					want = ""
				}
				if err != nil || string(got) != want {
					t.Errorf("Peek(%s, %d of %d, %d) = %d bytes, %v; want %d", name, len(buf), cap(buf), limit, len(got), err, len(want))
				}
			}
		}
	}
	if _, ok := f.Tree.Read("d/long", nil, 10); ok {
		t.Error("the short way followed a link above the name")
	}
}

func TestListWithoutGit(t *testing.T) {
	f, _, dir := openTemp(t)
	for _, name := range []string{"b.go", "a.go", "sub/c.go", "sub/d.txt", "node_modules/x.go", ".hidden", ".env"} {
		dirtest.Write(t, filepath.Join(dir, name), "x")
	}
	for _, c := range []struct {
		o    ListOptions
		want string
		more bool
	}{
		{ListOptions{}, "a.go b.go sub/c.go sub/d.txt", false},
		{ListOptions{Glob: "*.go"}, "a.go b.go sub/c.go", false},
		{ListOptions{Glob: "sub/*"}, "sub/c.go sub/d.txt", false},
		{ListOptions{Glob: "**/*.txt"}, "sub/d.txt", false},
		{ListOptions{Dir: "sub"}, "sub/c.go sub/d.txt", false},
		{ListOptions{Depth: 1}, "a.go b.go sub", false},
		{ListOptions{Hidden: true, Max: 2}, ".hidden a.go", true},
	} {
		es, more, err := f.List(t.Context(), c.o)
		var names []string
		for _, e := range es {
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != c.want || more != c.more {
			t.Errorf("List(%+v) = %q, %v, %v; want %q, %v", c.o, got, more, err, c.want, c.more)
		}
	}
	if _, _, err := f.List(t.Context(), ListOptions{Glob: strings.Repeat("{a,b}", 20)}); err == nil {
		t.Error("a pattern that is too much work was accepted")
	}
}

func TestLedgerInsideIsRefused(t *testing.T) {
	dir := t.TempDir()
	led, err := ledger.Open(filepath.Join(dir, "ledger"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := Open(dir, led); err == nil {
		f.Close()
		t.Error("a ledger inside the workspace was accepted")
	}
}

func TestWriteIsNotSeenHalfDone(t *testing.T) {
	f, _, dir := openTemp(t)
	a, b := bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<17)
	if err := f.WriteFile("f", a); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			got, err := os.ReadFile(filepath.Join(dir, "f"))
			if err != nil || !bytes.Equal(got, a) && !bytes.Equal(got, b) {
				t.Errorf("a reader saw %d bytes, %v", len(got), err)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for range 10 {
		for _, data := range [][]byte{b, a} {
			if err := f.WriteFile("f", data); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(done)
	wg.Wait()
}
