package ledger_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Names that git quotes, or that stand in odd places of a diff's first line.
var patchNames = []string{"a", "b", "d", "d/a", "d/d", "e/f/g", "ä/ü.txt", "x\xe9y", "\xff\xfe/\x01", "q\"uote", "tab\tname", "new\nline", "sp ace ", " lead", "back\\slash",
	"a b/b b/a b", "-dash", "a/b", "b/a", "\a\b\v\f\r", "\x7f", "\u2028", "dev/null"}

// A changer changes a tree at random, as a command does.
type changer struct {
	*testing.T
	rnd *rand.Rand
	dir string
}

func (c *changer) content() []byte {
	var b []byte
	for range c.rnd.IntN(30) {
		b = fmt.Appendf(b, "line %d\n", c.rnd.IntN(12))
	}
	switch c.rnd.IntN(8) {
	case 0:
		return nil
	case 1:
		return bytes.TrimSuffix(b, []byte("\n"))
	case 2: // binary, of any length
		for range c.rnd.IntN(300) {
			b = append(b, byte(c.rnd.IntN(256)))
		}
		return append(b, 0)
	case 3:
		return append(b, "caf\xe9\r\nno end"...)
	case 4:
		return append(bytes.Repeat([]byte("long\n"), 2000), 0) // git looks for the zero in the first 8000
	}
	return b
}

// change does something to a name, or nothing if that cannot be done.
func (c *changer) change() {
	p := filepath.Join(c.dir, patchNames[c.rnd.IntN(len(patchNames))])
	switch k := c.rnd.IntN(10); k {
	case 0, 1:
		_ = os.RemoveAll(p)
	case 2:
		_ = os.Rename(p, filepath.Join(c.dir, patchNames[c.rnd.IntN(len(patchNames))]))
	case 3:
		if info, err := os.Lstat(p); err == nil && info.Mode().IsRegular() {
			_ = os.Chmod(p, []fs.FileMode{0o600, 0o644, 0o655, 0o755, 0o744}[c.rnd.IntN(5)])
		}
	case 4:
		_ = os.RemoveAll(p)
		_ = os.Symlink([]string{"e", "no/where", "dev/null", "odd\xe9\n"}[c.rnd.IntN(4)], p)
	case 5: // some lines
		if b, err := os.ReadFile(p); err == nil && !linked(p) {
			lines := bytes.SplitAfter(b, []byte("\n"))
			lines[c.rnd.IntN(len(lines))] = c.content()
			_ = os.WriteFile(p, bytes.Join(lines, nil), 0o644)
		}
	default:
		if linked(p) || k == 9 {
			_ = os.RemoveAll(p)
		}
		for d := filepath.Dir(p); len(d) > len(c.dir) && k > 7; d = filepath.Dir(d) {
			if info, err := os.Lstat(d); err == nil && !info.IsDir() {
				_ = os.Remove(d) // a directory in place of a file
			}
		}
		_ = os.MkdirAll(filepath.Dir(p), 0o755)
		_ = os.WriteFile(p, c.content(), 0o644)
	}
}

func linked(p string) bool {
	real, err := filepath.EvalSymlinks(filepath.Dir(p))
	info, lerr := os.Lstat(p)
	return err != nil || real != filepath.Dir(p) || lerr == nil && info.Mode()&fs.ModeSymlink != 0
}

// gitSees lists a tree as git keeps it: no directories, and of the modes only the executable bit.
func gitSees(t testing.TB, dir string) []string {
	var out []string
	for _, line := range dirtest.WorkTree(t, dir) {
		i := strings.LastIndex(line, " -rw")
		switch {
		case strings.Contains(line, " d---") || strings.Contains(line, " drw"):
			continue
		case i >= 0:
			line = line[:i] + " exec=" + string(line[i+4]) + line[i+11:]
		}
		out = append(out, line)
	}
	return out
}

func applies(t *testing.T, dir, diff string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"apply", "--allow-empty", "--whitespace=nowarn"}, args...)...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(diff)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES="+filepath.Dir(filepath.Dir(dir)))
	if out, err := cmd.CombinedOutput(); err != nil && diff != "" {
		t.Errorf("git apply %v: %v\n%s\n%s", args, err, out, diff)
	}
}

// Whatever changes in a tree that git keeps, git apply of the diff makes the new tree of the old
// one, and the old one of the new one.
func TestPatchIsWhole(t *testing.T) {
	runs, first := testenv.Sample(8, 2000), testenv.Seed(t)
	for seed := first; seed < first+uint64(runs) && !t.Failed(); seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			base := t.TempDir()
			top := filepath.Join(base, "top")
			c := &changer{t, rand.New(rand.NewPCG(seed, 7)), top}
			kind := []string{"plain", "sha1", "sha256", "subdirectory"}[seed%4]
			if kind == "subdirectory" {
				c.dir = filepath.Join(top, "sub dir")
			}
			dirtest.Must(t, os.MkdirAll(c.dir, 0o755))
			for range 40 {
				c.change()
			}
			switch kind {
			case "sha1", "subdirectory":
				dirtest.Git(t, top, "init", "-q")
			case "sha256":
				dirtest.Git(t, top, "init", "-q", "--object-format=sha256")
			}
			if kind != "plain" && seed%3 != 0 {
				dirtest.Git(t, top, "add", "-A")
			}
			old := filepath.Join(base, "old")
			if out, err := exec.Command("cp", "-a", top, old).CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			}
			led, err := ledger.Open(filepath.Join(base, "ledger"), nil)
			dirtest.Must(t, err)
			defer led.Close()
			files, err := workspace.Open(c.dir, led)
			dirtest.Must(t, err)
			defer files.Close()
			snap, err := led.At("1").Snapshot(t.Context(), c.dir)
			dirtest.Must(t, err)
			for range 1 + c.rnd.IntN(30) {
				c.change()
			}
			_, err = snap.Record(t.Context())
			dirtest.Must(t, err)
			for range c.rnd.IntN(6) { // the tools know what they renamed
				_ = files.At("2").Rename(patchNames[c.rnd.IntN(len(patchNames))], patchNames[c.rnd.IntN(len(patchNames))])
			}
			diff, err := led.All().IncludeUncertain().Patch().Diff(t.Context(), c.dir)
			dirtest.Must(t, err)
			was, is := gitSees(t, old), gitSees(t, top)
			at := func(dir string) string { return filepath.Join(dir, strings.TrimPrefix(c.dir, top)) }
			applies(t, at(old), diff)
			if got := gitSees(t, old); !slices.Equal(got, is) {
				t.Errorf("%s: after git apply:\n%s\n%s", kind, dirtest.Diff(is, got), diff)
			}
			applies(t, at(top), diff, "-R")
			if got := gitSees(t, top); !slices.Equal(got, was) {
				t.Errorf("%s: after git apply -R:\n%s\n%s", kind, dirtest.Diff(was, got), diff)
			}
		})
	}
}

// What a patch only names does not keep git from applying the rest.
func TestPatchNamesOnly(t *testing.T) {
	base := t.TempDir()
	top := filepath.Join(base, "top")
	for _, name := range []string{".env", "z"} {
		dirtest.Write(t, filepath.Join(top, name), "old\n")
	}
	led, err := ledger.Open(filepath.Join(base, "ledger"), nil)
	dirtest.Must(t, err)
	defer led.Close()
	snap, err := led.At("1").Snapshot(t.Context(), top)
	dirtest.Must(t, err)
	for _, name := range []string{".env", "n", "z"} {
		dirtest.Write(t, filepath.Join(top, name), "new\n")
	}
	_, err = snap.Record(t.Context())
	dirtest.Must(t, err)
	diff, err := led.All().IncludeUncertain().Patch().Diff(t.Context(), top)
	dirtest.Must(t, err)
	if !strings.Contains(diff, "# diff --git a/.env b/.env\n# not shown") {
		t.Error(diff)
	}
	applies(t, top, diff, "-R", "--check")
}
