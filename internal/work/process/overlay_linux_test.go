package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// overlaid returns a Runner whose commands have an overlay, in a workspace with a ledger.
func overlaid(t *testing.T) (*Runner, *ledger.Ledger, string) {
	t.Helper()
	base := t.TempDir()
	return overlaidAt(t, filepath.Join(base, "ws"), filepath.Join(base, "ledger"))
}

func overlaidAt(t *testing.T, dir, home string) (*Runner, *ledger.Ledger, string) {
	t.Helper()
	dirtest.Must(t, os.MkdirAll(dir, 0o755))
	led, err := ledger.Open(home, overlay.Recover)
	dirtest.Must(t, err)
	r := New(dir, "", led, WithSandbox(SandboxOptions{Level: sandbox.Full, Private: t.TempDir(), Limits: sandbox.Limits{FreeMB: -1}}))
	t.Cleanup(func() { dirtest.Must(t, r.Close()); dirtest.Must(t, led.Close()) })
	if how, why := Attribution(sandbox.Full, dir, led.Dir); how != Exact {
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	return r, led, dir
}

// A data directory that is named by a link, as one on another disk is, takes overlays too.
func TestOverlayOfLinkedData(t *testing.T) {
	t.Parallel()
	data, link, dir := t.TempDir(), filepath.Join(t.TempDir(), "data"), t.TempDir()
	dirtest.Must(t, os.Symlink(data, link))
	want, _ := Attribution(sandbox.Full, dir, data)
	if how, why := Attribution(sandbox.Full, dir, link); how != want {
		t.Fatalf("attribution is %s: %s", how, why)
	}
	r, _, _ := overlaidAt(t, dir, filepath.Join(link, "ledger"))
	if o := ran(t, r, "echo x >f"); o.Uncertain || o.Code != 0 {
		t.Errorf("uncertain: %+v", o)
	}
}

// ran runs a command whose changes are recorded.
func ran(t *testing.T, r *Runner, script string) *Output {
	t.Helper()
	return ranDenied(t, r, script, nil)
}

func ranDenied(t *testing.T, r *Runner, script string, denied []Denied) *Output {
	t.Helper()
	o, err := r.Run(WithDenied(ledger.AtStep(t.Context(), "1"), denied), Cmd{Shell: script, Snapshot: true, Timeout: time.Minute})
	dirtest.Must(t, err)
	return o
}

// What has no place in an overlay, or would work otherwise there, is found out
// before the command runs, which then has none.
func TestOverlayWhereItIsSafe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, dir string)
	}{
		{"a file of another group", func(t *testing.T, dir string) {
			dirtest.Write(t, filepath.Join(dir, "shared/f"), "x")
			if err := os.Chown(filepath.Join(dir, "shared/f"), -1, 12345); err != nil {
				t.Skip(err)
			}
		}},
		{"hard links of each other", func(t *testing.T, dir string) {
			dirtest.Write(t, filepath.Join(dir, "f"), "x")
			dirtest.Must(t, os.Link(filepath.Join(dir, "f"), filepath.Join(dir, "g")))
		}},
		{"a database in use", func(t *testing.T, dir string) {
			dirtest.Write(t, filepath.Join(dir, "data/dev.db"), "SQLite format 3\x00 and more")
			dirtest.Write(t, filepath.Join(dir, "data/dev.db-shm"), "")
		}},
		{"a mark of an overlay", func(t *testing.T, dir string) {
			if err := unix.Mknod(filepath.Join(dir, "w"), unix.S_IFCHR, 0); err != nil {
				t.Skip(err)
			}
		}},
		{"a mount", func(t *testing.T, dir string) {
			at := filepath.Join(dir, "volume")
			dirtest.Must(t, os.Mkdir(at, 0o755))
			if err := unix.Mount("tmpfs", at, "tmpfs", 0, "size=64k"); err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, _, dir := overlaid(t)
			if o := ran(t, r, "echo x >exact"); o.Uncertain || !slices.Equal(o.Changed, []string{"exact"}) {
				t.Errorf("before: %+v", o)
			}
			c.prepare(t, dir)
			if o := ran(t, r, "echo x >uncertain"); !o.Uncertain || !slices.Contains(o.Changed, "uncertain") {
				t.Errorf("%+v", o)
			}
		})
	}
}

// While a command runs in the background, all are compared: they and the job's
// tools see each other's files at once.
func TestOverlayInTheBackground(t *testing.T) {
	t.Parallel()
	r, _, dir := overlaid(t)
	p, err := r.Start(t.Context(), Cmd{Shell: "until [ -e flag ]; do sleep 0.02; done; echo seen; sleep 1", Snapshot: true})
	dirtest.Must(t, err)
	if o := ran(t, r, "echo x >flag; sleep 0.3"); !o.Uncertain {
		t.Errorf("%+v", o)
	}
	<-p.Done()
	if o := p.Output(); o.Text != "seen\n" {
		t.Errorf("%+v", o)
	}
	if o := ran(t, r, "echo x >then"); o.Uncertain {
		t.Errorf("afterwards: %+v", o)
	}
	dirtest.Write(t, filepath.Join(dir, "x"), "")
}

// Several commands at once, which sleep until the last one has begun, each have their own; of two that write one file, the
// second is merged or kept aside.
func TestOverlaysAtOnce(t *testing.T) {
	t.Parallel()
	r, _, dir := overlaid(t)
	dirtest.Write(t, filepath.Join(dir, "both"), dirtest.Twenty)
	dirtest.Write(t, filepath.Join(dir, "one"), "0\n")
	outs := make(chan *Output, 8)
	for i := range 8 {
		go func() {
			edit := "true"
			if i < 2 {
				edit = []string{"sed -i '1i first' both", "echo last >>both"}[i]
			}
			o, err := r.Run(ledger.AtStep(t.Context(), fmt.Sprint(i)), Cmd{Shell: fmt.Sprintf("sleep 2; echo %d >one; echo %d >own%d; mkdir -p d; echo %d >d/%d; %s", i, i, i, i, i, edit), Snapshot: true})
			if err != nil {
				t.Error(err)
			}
			outs <- o
		}()
	}
	conflicts := 0
	for range 8 {
		if o := <-outs; strings.Contains(o.Note, "one (it") || strings.Contains(o.Note, "one (both") {
			conflicts++
		}
	}
	if got := dirtest.Content(t, filepath.Join(dir, "both")); got != "first\n"+dirtest.Twenty+"last\n" {
		t.Errorf("both is %q", got)
	}
	for i := range 8 {
		n := fmt.Sprint(i)
		if dirtest.Content(t, filepath.Join(dir, "own"+n)) != n+"\n" || dirtest.Content(t, filepath.Join(dir, "d", n)) != n+"\n" {
			t.Errorf("what command %d wrote is lost", i)
		}
	}
	// One command writes what is there, and one is the first; others that begin late, under load, find what those left.
	if conflicts == 0 || conflicts > 6 {
		t.Errorf("%d conflicts, want 6, or some", conflicts)
	}
}

// The upper layer can lie on another file system than the workspace; with no
// room for the copy, it stays until there is.
func TestOverlayAcrossFileSystems(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	if err := unix.Mount("tmpfs", base, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(base, unix.MNT_DETACH) })
	r, led, dir := overlaidAt(t, filepath.Join(base, "ws"), filepath.Join(t.TempDir(), "ledger"))
	dirtest.Write(t, filepath.Join(dir, "f"), "old\n")
	o := ran(t, r, `echo new >>f; mkdir -p n/m; echo x >n/m/x; ln n/m/x n/y; ln -s x n/l; mkfifo n/p; chmod 700 n; truncate -s 400000 sparse; touch -d @1000000000 f`)
	if o.Uncertain || o.Note != "" {
		t.Fatalf("%+v", o)
	}
	var a, b, sparse unix.Stat_t
	dirtest.Must(t, unix.Stat(filepath.Join(dir, "n/m/x"), &a))
	dirtest.Must(t, unix.Stat(filepath.Join(dir, "n/y"), &b))
	dirtest.Must(t, unix.Stat(filepath.Join(dir, "sparse"), &sparse))
	if a.Ino != b.Ino || sparse.Blocks != 0 || dirtest.Content(t, filepath.Join(dir, "f")) != "old\nnew\n" {
		t.Errorf("links %v, sparse has %d blocks", a.Ino == b.Ino, sparse.Blocks)
	}
	if info, err := os.Stat(filepath.Join(dir, "f")); err != nil || info.ModTime().Unix() != 1000000000 {
		t.Errorf("the time of f: %v, %v", info.ModTime(), err)
	}
	dirtest.Must(t, os.RemoveAll(filepath.Join(dir, "n")))
	hasty := exhaustion.WithPatience(ledger.AtStep(t.Context(), "1"), 0)
	o, err := r.Run(hasty, Cmd{Shell: "head -c 3000000 /dev/urandom >large; echo small >small; sha256sum large", Snapshot: true, Timeout: time.Minute})
	dirtest.Must(t, err)
	if !strings.Contains(o.Note, "no space left") || dirtest.Content(t, filepath.Join(dir, "small")) != "small\n" {
		t.Errorf("%+v", o)
	}
	if cs, err := led.Changes(t.Context()); err != nil || slices.ContainsFunc(cs, func(c ledger.Change) bool { return c.Path == "large" }) {
		t.Errorf("%+v, %v", cs, err)
	}
	dirtest.Must(t, unix.Mount("", base, "", unix.MS_REMOUNT, "size=8m"))
	then := ran(t, r, "sha256sum large")
	if then.Text != o.Text {
		t.Errorf("after room was made: %q, want %q", then.Text, o.Text)
	}

	// What is not stopped waits for room, and is not run again.
	patient := exhaustion.WithNotice(ledger.AtStep(t.Context(), "2"), func(what exhaustion.Resource, _ error) {
		if err := unix.Mount("", base, "", unix.MS_REMOUNT, "size=32m"); err != nil || what != exhaustion.Disk {
			t.Errorf("waits for %s, and is given room: %v", what, err)
		}
	})
	o, err = r.Run(patient, Cmd{Shell: "head -c 9000000 /dev/urandom >larger; echo once >>times", Snapshot: true, Timeout: time.Minute})
	if err != nil || o.Note != "" || led.Fault() != nil || dirtest.Content(t, filepath.Join(dir, "times")) != "once\n" {
		t.Errorf("%+v, %v, %v", o, err, led.Fault())
	}
	if info, err := os.Stat(filepath.Join(dir, "larger")); err != nil || info.Size() != 9000000 {
		t.Errorf("larger: %v, %v", info, err)
	}
}

// Files that configure programs outside of the sandbox never reach the workspace.
func TestOverlayProtects(t *testing.T) {
	t.Parallel()
	r, _, dir := overlaid(t)
	dirtest.Git(t, dir, "init", "-q")
	o := ran(t, r, "mkdir -p .vscode sub/.claude; echo {} >.vscode/tasks.json; echo {} >sub/.claude/settings.json; echo x >fine; echo x >.git/hooks/pre-commit; git init -q new; echo x >new/.git/hooks/post-checkout")
	for _, p := range []string{".vscode", "sub/.claude", ".git/hooks/pre-commit", "new/.git/hooks/post-checkout"} {
		if _, err := os.Lstat(filepath.Join(dir, p)); err == nil {
			t.Errorf("%s is in the workspace", p)
		}
	}
	if dirtest.Content(t, filepath.Join(dir, "fine")) != "x\n" || !strings.Contains(o.Note, ".vscode was made by the command and not brought into the workspace") {
		t.Errorf("%+v", o)
	}
}

// toolScripts are commands, run one after the other in one workspace, with the program that each
// needs.
var toolScripts = [][2]string{
	{"git", `git init -q; git config user.name x; git config user.email x@y; mkdir -p d/e; echo 1 >d/e/f; git add -A; git commit -qm 1`},
	{"git", `git mv d moved && git commit -qm 2 && git status --porcelain && test -z "$(git status --porcelain)" && test -e moved/e/f`},
	{"git", `git checkout -qb side && echo 2 >>moved/e/f && git commit -qam 3 && git checkout -q - && git merge -q side && git stash list && git gc -q && git fsck`},
	{"mv", `mv moved d && test -e d/e/f && mv -T d other && git mv -k x y; mv other d`},
	{"python3", `python3 -c 'import os,shutil; os.rename("d","r"); os.mkdir("empty"); os.rename("r","empty"); os.renames("empty/e","q/e"); shutil.move("q","d")' && test -e d/e/f`},
	{"npm", `mkdir -p dep app && echo '{"name":"dep","version":"1.0.0"}' >dep/package.json && cd app && echo '{"name":"app","version":"1.0.0"}' >package.json && npm install --offline --no-audit --no-fund --install-links ../dep && test -e node_modules/dep/package.json`},
	{"npm", `cd app && npm install --offline --no-audit --no-fund --install-links ../dep && npm uninstall --no-audit --no-fund dep && ! test -e node_modules/dep`},
	{"cargo", `cargo init -q --vcs none --name hello rs && cd rs && cargo build -q --offline && ./target/debug/hello`},
	{"cargo", `cd rs && echo '// changed' >>src/main.rs && cargo build -q --offline && cargo clean -q && ! test -e target`},
	{"make", `printf 'out: in\n\tcp in out\n\techo made >>log\n' >Makefile; echo 1 >in; make -s && make -s`},
	{"make", `make -s && test $(wc -l <log) = 1 && sleep 0.02 && echo 2 >in && make -s && test $(wc -l <log) = 2`},
	{"sqlite3", `sqlite3 x.db 'create table t(a); insert into t values (1)'`},
}

// Programs that rename directories, which an overlay by itself refuses, and those
// that people use most work as without one.
func TestOverlayWithTools(t *testing.T) {
	t.Parallel()
	r, _, _ := overlaid(t)
	run := func(needs, script string) {
		// A cargo of rustup is on PATH and finds no tool chain where HOME is another.
		if exec.Command(needs, "--version").Run() != nil {
			return
		}
		o, err := r.Run(t.Context(), Cmd{Shell: script, Snapshot: true, Timeout: 2 * time.Minute})
		dirtest.Must(t, err)
		if o.Code != 0 || o.Uncertain {
			t.Errorf("%s\ncode %d, uncertain %v:\n%s\n%s", script, o.Code, o.Uncertain, o.Text, o.Note)
		}
	}
	for _, s := range toolScripts {
		run(s[0], s[1])
	}
}

// An ignored file that is written to stays the same file for a process that has it open.
func TestOverlayWritesInPlace(t *testing.T) {
	t.Parallel()
	r, _, dir := overlaid(t)
	dirtest.Git(t, dir, "init", "-q")
	dirtest.Write(t, filepath.Join(dir, ".gitignore"), "*.log\n")
	log := filepath.Join(dir, "server.log")
	dirtest.Write(t, log, "old\n")
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0)
	dirtest.Must(t, err)
	defer f.Close()
	ran(t, r, "echo command >>server.log")
	_, err = f.WriteString("server\n")
	dirtest.Must(t, err)
	if got := dirtest.Content(t, log); got != "old\ncommand\nserver\n" {
		t.Errorf("the log is %q", got)
	}
	var before, after syscall.Stat_t
	dirtest.Must(t, syscall.Stat(log, &before))
	ran(t, r, "touch -d @1000000000 server.log")
	dirtest.Must(t, syscall.Stat(log, &after))
	if before.Ino != after.Ino || after.Mtim.Sec != 1000000000 {
		t.Errorf("inode %d and %d, time %d", before.Ino, after.Ino, after.Mtim.Sec)
	}
}
