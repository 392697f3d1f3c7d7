package process

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// flips returns the number of commands that TestFlips runs at each level and as each user.
func flips() int { return testenv.Sample(20, 2000) }

// A flipper exchanges directories of a workspace for links and back, as fast as
// it can, as a process that a command left behind would.
type flipper struct {
	ws, outside string
	dirs        []string // what is exchanged for a link to outside; nil: what pairs has
	stop        atomic.Bool
	done        chan uint64 // how often it did
}

// pairs lists the paths that are exchanged, each with its replacement: a link to a directory
// outside with the same names in it.
func (f *flipper) pairs() [][2]string {
	if f.dirs != nil {
		var out [][2]string
		for _, d := range f.dirs {
			out = append(out, [2]string{d, f.outside})
		}
		return out
	}
	return [][2]string{
		{"a", f.outside}, {"sub", f.outside}, {"sub/.git", f.outside + "/.git"}, {"sub/.git/hooks", f.outside + "/docs"}, {"sub/.git/info", f.outside},
		{"sub/.git/modules", f.outside}, {"sub/.git/modules/m", f.outside + "/.git"}, {"a/.claude", f.outside + "/.claude"}, {"sub/.git/worktrees", f.outside}, {"d/e", f.outside},
	}
}

// prepare makes the workspace and, beside each directory, the link for it.
func (f *flipper) prepare(t *testing.T) {
	t.Helper()
	f.links(t)
	if f.dirs != nil {
		return
	}
	for _, dir := range []string{"sub/.git/hooks", "sub/.git/info", "sub/.git/modules/m/hooks", "sub/.git/worktrees/w", "sub/.git/objects", "sub/.git/refs", "sub/.git/modules/m/objects", "a", "d/e/.git/objects"} {
		if err := os.MkdirAll(filepath.Join(f.ws, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"sub/.git/HEAD", "sub/.git/config", "sub/.git/modules/m/HEAD", "sub/.git/modules/m/config", "a/.claude/settings.json", "a/.env", "d/e/.git/HEAD", "d/e/.git/config", "sub/.git/worktrees/w/HEAD", "sub/.git/worktrees/w/commondir"} {
		dirtest.Write(t, filepath.Join(f.ws, file), "")
	}
}

func (f *flipper) links(t *testing.T) {
	t.Helper()
	for i, p := range f.pairs() {
		if err := os.Symlink(p[1], f.link(i)); err != nil {
			t.Fatal(err)
		}
	}
}

func (f *flipper) link(i int) string { return filepath.Join(f.ws, fmt.Sprintf(".flip%d", i)) }

func (f *flipper) run(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	n := uint64(0)
	ws, err := unix.Open(f.ws, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	defer unix.Close(ws)
	pairs := f.pairs()
	for !f.stop.Load() {
		i := rng.IntN(len(pairs))
		if f.flip(ws, pairs[i][0], pairs[i][1], filepath.Base(f.link(i)), rng) {
			n++
		}
		time.Sleep(time.Duration(rng.IntN(12)) * time.Millisecond)
	}
	f.done <- n
}

// flip exchanges one directory for a link, and nearly always back soon. It writes
// nothing through a link itself, as a confined process cannot.
func (f *flipper) flip(ws int, rel, outside, link string, rng *rand.Rand) bool {
	dir, base, err := rootfs.OpenParent(ws, rel)
	if err != nil {
		return false // another one is flipped
	}
	defer unix.Close(dir)
	_ = unix.Symlinkat(outside, ws, link) // if it was taken away
	_ = unix.Mkdirat(dir, base, 0o755)
	if unix.Renameat2(dir, base, ws, link, unix.RENAME_EXCHANGE) != nil {
		return false
	}
	time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
	if rng.IntN(10) > 0 {
		_ = unix.Renameat2(dir, base, ws, link, unix.RENAME_EXCHANGE)
	} else if st, err := rootfs.StatAt(dir, base); err == nil && rootfs.TypeOf(&st) == unix.S_IFLNK {
		_ = unix.Unlinkat(dir, base, 0)
		_ = unix.Renameat(ws, link, dir, base)
	}
	return true
}

// TestFlips runs commands in a workspace that another process changes all the
// time. Whatever becomes of them: nothing outside is read, written or removed.
func TestFlips(t *testing.T) {
	t.Parallel()
	if os.Getenv("ADROIT_FLIPS_USER") == "" && os.Geteuid() == 0 {
		t.Run("user", flipsAsUser)
	}
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		r, dir := cellmate(t, SandboxOptions{Level: level})
		f := &flipper{ws: dir, outside: victim(t), done: make(chan uint64)}
		secret := "content that no command reads"
		dirtest.Write(t, filepath.Join(f.outside, ".env"), secret)
		dirtest.Write(t, filepath.Join(f.outside, "hooks/pre-commit"), "#!/bin/sh\n")
		dirtest.Write(t, filepath.Join(f.outside, "info/attributes"), "mine\n")
		dirtest.Write(t, filepath.Join(f.outside, ".git/hooks/pre-commit"), "#!/bin/sh\n")
		f.prepare(t)
		want := treeOf(t, f.outside)
		seed := testenv.Seed(t)
		go f.run(seed)
		ran, changed, refused := 0, 0, 0
		for i := range flips() {
			o, err := r.Run(t.Context(), Cmd{Timeout: time.Minute, Shell: `l=
for f in sub/.git sub/.git/modules sub/.git/modules/m a a/.claude sub d/e d/e/.git; do
	echo owned >$f/owned; echo owned >>$f/config; l="$l $f/hooks $f/info $f/modules $f/docs"
done 2>/dev/null
rm -rf $l 2>/dev/null; for f in $l; do case $f in a*|sub/.git/h*|d*m*) ln -s "$0" $f 2>/dev/null; esac; done
read x <a/.env && echo $x; true`, Args: []string{f.outside}})
			switch {
			case errors.Is(err, sandbox.ErrChanged):
				changed++
			case errors.Is(err, sandbox.ErrRefused) && level == sandbox.Bubblewrap:
				refused++ // bwrap itself found something else
			case err != nil:
				t.Fatalf("command %d: %v", i, err)
			default:
				ran++
				if level != sandbox.Landlock && strings.Contains(o.Text, secret) {
					t.Fatalf("command %d read what lies outside", i)
				}
			}
			if got := treeOf(t, f.outside); got != want {
				t.Fatalf("after command %d outside is\n%s\nand was\n%s", i, got, want)
			}
		}
		f.stop.Store(true)
		n := <-f.done
		t.Logf("%s: %d commands ran, %d found the workspace changed, %d were refused; %d exchanges", level, ran, changed, refused, n)
		if ran == 0 || n < uint64(flips()) {
			t.Errorf("%d commands ran, with %d exchanges: that shows nothing", ran, n)
		}
		// The workspace can be used when it is left alone.
		if o := did(t, r, "echo works", 0, "works"); o == nil {
			t.Error("it does not work")
		}
		if got := treeOf(t, f.outside); got != want {
			t.Fatalf("in the end outside is\n%s\nand was\n%s", got, want)
		}
	})
}

// flipsAsUser runs the test as an ordinary user.
func flipsAsUser(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "adroit-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	// This process must not have the copy open for writing: a command that another
	// test starts meanwhile would inherit it, and the copy could not be executed.
	dirtest.Must(t, os.Chmod(dir, 0o777))
	dirtest.Must(t, exec.Command("cp", os.Args[0], filepath.Join(dir, "self")).Run())
	dirtest.Must(t, os.Chmod(filepath.Join(dir, "self"), 0o755))
	cmd := exec.Command(filepath.Join(dir, "self"), "-test.run=^TestFlips$", "-test.v", "-test.timeout=120m")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "ADROIT_FLIPS_USER=1", "ADROIT_NIGHT=" + os.Getenv("ADROIT_NIGHT"), "CI=" + os.Getenv("CI"), "GORACE=" + os.Getenv("GORACE"), "ADROIT_TEST_HELPER=" + os.Getenv("ADROIT_TEST_HELPER")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "exchanges") || strings.Contains(line, "SEED") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// flipWork changes what flippers exchange: links, modes, content, directories.
const flipWork = `for d in a d/e s; do
	ln $d/keys new-$1-${d%%/*}; ln $d/log $d/again-$1; chmod 0$2 $d; echo more >>$d/log; echo more >>$d/keys; rm -rf $d/sub; mkdir -p $d/n$1; chmod 0$2 $d/n$1; echo x >$d/n$1/x
done 2>/dev/null`

// A flipWriter is a second writer beside a job with overlays.
type flipWriter struct {
	r   *Runner
	led *ledger.Ledger
	dir string
}

// flipped runs flipWork, and reports whether it was in an overlay.
func flipped(t *testing.T, r *Runner, i int) bool {
	o, err := r.Run(t.Context(), Cmd{Snapshot: true, Timeout: time.Minute, Shell: flipWork + "; true", Args: []string{"sh", strconv.Itoa(i), []string{"750", "700", "755"}[i%3]}})
	// What is exchanged at the moment of a join is not there for it: the next
	// command tries again, and nothing is lost.
	if err != nil && !errors.Is(err, sandbox.ErrChanged) && !exchanged(err) {
		t.Error(err)
	}
	return o != nil && !o.Uncertain
}

func exchanged(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

// goesOn starts flipWork in a process that works directly in the workspace until the test ends. It
// makes no hard links: beside them no command has an overlay.
func (w flipWriter) goesOn(t *testing.T, recorded bool) {
	p, err := w.r.Start(ledger.AtStep(t.Context(), "2"), Cmd{Snapshot: recorded, Shell: "ln() { :; }\nwhile :; do\n" + flipWork + "\nsleep 0.1; done", Args: []string{"sh", "9", "750"}})
	dirtest.Must(t, err)
	t.Cleanup(func() { p.Kill(); <-p.Done() })
}

// called records what changes during a call of a server, and until the next, as mcp.Pool does.
func (w flipWriter) called(t *testing.T) {
	led := w.led.At("2")
	before, err := led.Snapshot(t.Context(), w.dir)
	if err == nil {
		_, _, err = led.Settle(t.Context())
		time.Sleep(5 * time.Millisecond)
		_, rerr := before.Record(t.Context(), ".")
		err = errors.Join(err, rerr, led.Follow(t.Context(), w.dir))
	}
	if err != nil && !exchanged(err) {
		t.Error(err)
	}
}

// TestFlipsOverlay runs commands of a job with overlays in a workspace that another process changes
// all the time, beside a second writer that changes the same. Nothing outside is linked into the
// workspace, written, removed, or gets another mode.
func TestFlipsOverlay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		begin func(*testing.T, flipWriter)
		with  func(*testing.T, flipWriter, int)
	}{
		{"another job", nil, func(t *testing.T, w flipWriter, i int) { flipped(t, w.r, i) }},
		{"a background command", func(t *testing.T, w flipWriter) { w.goesOn(t, true) }, nil},
		{"a server", func(t *testing.T, w flipWriter) { w.goesOn(t, false) }, func(t *testing.T, w flipWriter, _ int) { w.called(t) }},
	} {
		t.Run(c.name, func(t *testing.T) { t.Parallel(); flipsOverlay(t, c.begin, c.with) })
	}
}

func flipsOverlay(t *testing.T, begin func(*testing.T, flipWriter), with func(*testing.T, flipWriter, int)) {
	base := t.TempDir()
	a, led, dir := overlaidAt(t, filepath.Join(base, "ws"), filepath.Join(base, "ledger"))
	b, second, _ := overlaidAt(t, dir, filepath.Join(base, "ledger2"))
	w := flipWriter{b, second, dir}
	f := &flipper{ws: dir, outside: victim(t), done: make(chan uint64), dirs: []string{"a", "d", "d/e", "s"}}
	dirtest.Git(t, dir, "init", "-q")
	for _, in := range []string{f.outside, filepath.Join(dir, "a"), filepath.Join(dir, "d/e"), filepath.Join(dir, "s")} {
		for _, name := range []string{"keys", "log", "sub/x", ".gitignore"} {
			dirtest.Write(t, filepath.Join(in, name), "text\n")
		}
	}
	dirtest.Write(t, filepath.Join(dir, ".gitignore"), "log\n")
	f.prepare(t)
	want := treeOf(t, f.outside)
	if begin != nil {
		begin(t, w)
	}
	go f.run(testenv.Seed(t))
	exact := 0
	for i := range flips() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			if with != nil {
				with(t, w, i)
			}
		}()
		if flipped(t, a, i) {
			exact++
		}
		<-done
		if got := treeOf(t, f.outside); got != want {
			t.Fatalf("after command %d outside is\n%s\nand was\n%s", i, got, want)
		}
		f.unlinked(t)
		f.tidy(t)
	}
	f.stop.Store(true)
	n := <-f.done
	t.Logf("%d of %d commands had an overlay; %d exchanges", exact, flips(), n)
	if n < uint64(flips()) || exact == 0 {
		t.Errorf("%d commands had an overlay, with %d exchanges: that shows nothing", exact, n)
	}
	dirtest.Must(t, b.Close())
	for _, l := range []*ledger.Ledger{second, led} {
		if _, err := l.Undo(t.Context(), dir); err != nil {
			t.Error(err)
		}
	}
	if got := treeOf(t, f.outside); got != want {
		t.Fatalf("after undo outside is\n%s\nand was\n%s", got, want)
	}
}

// tidy removes the hard links in the workspace: where there are some, no command
// has an overlay.
func (f *flipper) tidy(t *testing.T) {
	t.Helper()
	root, err := os.OpenRoot(f.ws)
	dirtest.Must(t, err)
	defer root.Close()
	for _, dir := range append([]string{"."}, f.dirs...) {
		d, err := root.Open(dir)
		if err != nil {
			continue // it is a link now
		}
		names, _ := d.Readdirnames(-1)
		d.Close()
		for _, n := range names {
			if info, err := root.Lstat(filepath.Join(dir, n)); err == nil && info.Mode().IsRegular() && info.Sys().(*syscall.Stat_t).Nlink > 1 {
				_ = root.Remove(filepath.Join(dir, n)) // or it is elsewhere now
			}
		}
	}
}

// unlinked fails if a file outside has got another name.
func (f *flipper) unlinked(t *testing.T) {
	t.Helper()
	dirtest.Must(t, filepath.WalkDir(f.outside, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Sys().(*syscall.Stat_t).Nlink > 1 {
			t.Errorf("%s has another name, %v", p, err)
		}
		return nil
	}))
}
