package process

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// scriptOf returns a random shell script that uses a few names, some of which exist.
func scriptOf(rnd *rand.Rand, n int) string {
	names := []string{"a", "b", "d", "d/x", "d/e", "d/e/y", "n", "n/z", "ig/o", "ig", "h", "l", "sp ace", "$'\\xff\\xfe'", "A", "deep/1/2/3/4/5", "deep", "keep"}
	pick := func() string {
		p := names[rnd.IntN(len(names))]
		if strings.HasPrefix(p, "$") {
			return p
		}
		return "'" + p + "'"
	}
	b := new(strings.Builder)
	b.WriteString("\n")
	for i := range n {
		p, q := pick(), pick()
		ops := []string{
			fmt.Sprintf("echo %d >%s", i, p), fmt.Sprintf("echo %d >>%s", i, p), "rm -f " + p, "rm -rf " + p, "mkdir -p " + p,
			"mv -T " + p + " " + q, "cp -rT " + p + " " + q, "ln -sfn " + q + " " + p, "[ -d " + p + " ] || chmod 600 " + p, "chmod 755 " + p,
			": >" + p, "touch -d @1000000000 " + p, "mkdir -p " + p + " && echo x >" + p + "/in", "rm -rf " + p + " && mkdir " + p,
			"ln " + p + " " + q, "truncate -s 100000 " + p, "sed -i s/0/zero/ " + p,
			fmt.Sprintf("mkfifo pipe%d", i), // which nothing else opens, and so waits for
			"python3 -c 'import os,sys; os.rename(sys.argv[1],sys.argv[2])' " + p + " " + q,
		}
		k := rnd.IntN(len(ops) + 8)
		if k >= len(ops) { // the frequent ones
			k %= 8
		}
		// The kernel gives two links of one file different inode numbers on an
		// overlay: cp onto a link of its own source would empty both.
		if strings.HasPrefix(ops[k], "cp ") && strings.Contains(b.String(), "\nln '") {
			continue
		}
		b.WriteString(ops[k] + "\n")
	}
	return b.String()
}

// seedTree makes the files that the programs find.
func seedTree(t *testing.T, dir string) {
	dirtest.Write(t, filepath.Join(dir, ".gitignore"), "ig/\nh\n")
	for _, p := range []string{"a", "b", "d/x", "d/e/y", "ig/o", "ig/p/q", "h", "keep", "mine", "yours/too"} {
		dirtest.Write(t, filepath.Join(dir, p), "0 "+p+"\n")
	}
	dirtest.Must(t, os.Symlink("a", filepath.Join(dir, "l")))
}

// facts lists the properties that must be equal: names, kinds, modes, contents, link targets,
// which names are one file, and the order of the times of files.
func facts(t *testing.T, dir string) []string {
	t.Helper()
	inodes := map[uint64]string{}
	var out []string
	dirtest.Must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir || strings.HasSuffix(p, "/.git") {
			if strings.HasSuffix(p, "/.git") {
				return fs.SkipDir
			}
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		line := fmt.Sprintf("%q %v", rel, info.Mode())
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			line += " " + rootfs.Digest(b)[:12]
			if first, ok := inodes[st.Ino]; ok {
				line += " is " + first
			}
			inodes[st.Ino] = rel
			if info.ModTime().Unix() == 1000000000 {
				line += " old"
			}
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(p)
			line += " -> " + to
		}
		for _, a := range []string{"user.overlay.opaque", "user.overlay.origin", "user.overlay.impure"} {
			if n, _ := syscall.Getxattr(p, a, nil); n > 0 {
				line += " " + a
			}
		}
		out = append(out, line)
		return nil
	}))
	return out
}

// What a random program does is the same with and without an overlay, although a
// person edits other files meanwhile; it alone is recorded, and undo takes back it
// alone.
func TestOverlayIsTransparent(t *testing.T) {
	t.Parallel()
	count := 12
	if n, err := strconv.Atoi(os.Getenv("ADROIT_TEST_PROGRAMS")); err == nil {
		count = n
	}
	seeds := []uint64{196605188, 1199280459947427426} // another name for a link
	for first := testenv.Seed(t); count > 0; count-- {
		seeds = append(seeds, first+uint64(count)-1)
	}
	for i, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 2))
			script := scriptOf(rnd, 3+rnd.IntN(12))
			r, led, dir := overlaid(t)
			plain := t.TempDir()
			for _, d := range []string{dir, plain} {
				seedTree(t, d)
				if i%2 == 0 {
					dirtest.Git(t, d, "init", "-q")
					dirtest.Git(t, d, "add", "-A")
				}
			}
			bare := New(plain, "", nil, WithSandbox(SandboxOptions{Level: sandbox.Full}))
			defer bare.Close()
			_, err := bare.Run(t.Context(), Cmd{Args: []string{"bash", "-c", script}})
			dirtest.Must(t, err)
			person := func(d string) {
				dirtest.Write(t, filepath.Join(d, "mine"), "person\n")
				dirtest.Write(t, filepath.Join(d, "theirs/new"), "person\n")
				dirtest.Must(t, os.RemoveAll(filepath.Join(d, "yours")))
			}
			// The person works when the command has begun and before it ends.
			gate := filepath.Join(t.TempDir(), "gate")
			dirtest.Must(t, syscall.Mkfifo(gate, 0o600))
			p, err := r.start(ledger.AtStep(t.Context(), "1"), Cmd{Shell: "bash -c \"$0\"; read x", Args: []string{script}, Interactive: true, Snapshot: true}, true)
			dirtest.Must(t, err)
			person(dir)
			_, err = p.Stdin().Write([]byte("on\n"))
			dirtest.Must(t, err)
			<-p.Done()
			o := p.Output()
			if o.Uncertain || o.Note != "" {
				t.Errorf("uncertain: %v, note: %s", o.Uncertain, o.Note)
			}
			person(plain)
			want, got := facts(t, plain), facts(t, dir)
			if !slices.Equal(want, got) {
				t.Errorf("not as without an overlay:\n%s\nafter\n%s\nnote: %s", dirtest.Diff(want, got), script, o.Note)
			}
			for _, c := range o.Changed {
				if c == "mine" || strings.HasPrefix(c, "theirs") || strings.HasPrefix(c, "yours") {
					t.Errorf("%s is the person's", c)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(led.Dir, "*", "*", "*")); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
			u, err := led.Undo(t.Context(), dir)
			dirtest.Must(t, err)
			for _, keep := range []string{"mine", "theirs/new"} {
				if dirtest.Content(t, filepath.Join(dir, keep)) != "person\n" {
					t.Errorf("undo changed %s", keep)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "yours")); err == nil {
				t.Error("undo brought back what the person removed")
			}
			for _, p := range []string{"a", "b", "d/x", "d/e/y", "keep"} {
				if info, err := os.Lstat(filepath.Join(dir, p)); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
					continue // which undo leaves alone
				}
				if slices.ContainsFunc(u.Skipped, func(s ledger.Skipped) bool { return s.Path == p }) {
					continue // and reports
				}
				if b, err := os.ReadFile(filepath.Join(dir, p)); err != nil || string(b) != "0 "+p+"\n" {
					t.Errorf("undo left %s as %q, %v\nafter\n%s", p, b, err, script)
				}
			}
		})
	}
}
