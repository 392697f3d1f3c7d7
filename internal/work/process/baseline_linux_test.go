package process

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// A file that the settings include is not changed or made by a command, and no list of a rebase
// makes the user run a command's addition. A list that git writes stays.
func TestGitObeys(t *testing.T) {
	user := filepath.Join(t.TempDir(), "config")
	t.Setenv("GIT_CONFIG_GLOBAL", user)
	levels(t, func(t *testing.T, level sandbox.Level) {
		r, dir := cellmate(t, SandboxOptions{Level: level})
		dirtest.Git(t, dir, "init", "-q")
		for _, n := range []string{"1", "2"} {
			dirtest.Write(t, filepath.Join(dir, "f"), n)
			dirtest.Git(t, dir, "add", "f")
			dirtest.Git(t, dir, "commit", "-qm", n)
		}
		dirtest.Git(t, dir, "config", "include.path", "../team.conf")
		dirtest.Git(t, dir, "config", "--add", "include.path", "../absent.conf")
		dirtest.Write(t, filepath.Join(dir, "team.conf"), "[include]\n\tpath = sub/more.conf\n")
		dirtest.Write(t, filepath.Join(dir, "sub/more.conf"), "[user]\n\tname = x\n")
		// So do the user's own, which name what lies in the repository.
		dirtest.Write(t, user, "[include]\n\tpath = "+dir+"/user.conf\n[core]\n\thooksPath = .githooks\n")
		dirtest.Write(t, filepath.Join(dir, "user.conf"), "[alias]\n\tst = !tools/st\n")
		dirtest.Write(t, filepath.Join(dir, "tools/st"), "")
		for _, name := range []string{"user.conf", "tools/st"} {
			was := dirtest.Content(t, filepath.Join(dir, name))
			did(t, r, "echo evil >>"+name+"; mkdir -p .githooks; echo evil >.githooks/pre-commit; true", 0, "")
			if got := dirtest.Content(t, filepath.Join(dir, name)); got != was || rootfs.Exists(filepath.Join(dir, ".githooks")) {
				t.Errorf("%s is %q, or there is a hook", name, got)
			}
		}
		want := dirtest.Content(t, filepath.Join(dir, "team.conf")) + dirtest.Content(t, filepath.Join(dir, "sub/more.conf"))
		did(t, r, `for f in team.conf absent.conf sub/more.conf; do printf '[core]\n\tfsmonitor = evil\n' >>$f; done; rm -f team.conf; mkdir .git/rebase-merge; echo 'exec evil' >.git/rebase-merge/git-rebase-todo; true`, 0, "")
		if got := dirtest.Content(t, filepath.Join(dir, "team.conf")) + dirtest.Content(t, filepath.Join(dir, "sub/more.conf")); got != want {
			t.Errorf("the included files are %q", got)
		}
		for _, name := range []string{"absent.conf", ".git/rebase-merge"} { // git takes an empty one for a rebase
			if rootfs.Exists(filepath.Join(dir, name)) {
				t.Errorf("%s is there", name)
			}
		}
		did(t, r, `mkdir .git/rebase-merge; echo 'pick 0123 x' >.git/rebase-merge/git-rebase-todo`, 0, "")
		if !rootfs.Exists(filepath.Join(dir, ".git/rebase-merge/git-rebase-todo")) {
			t.Error("a list without programs was taken away")
		}
	})
}

// plant is a command that has programs outside of the sandbox run something, and waits.
const plant = `printf '[core]\n\tfsmonitor = evil\n' >>.git/config; echo . >.git/commondir; mkdir -p .vscode && echo evil >.vscode/tasks.json; ln -s /etc .claude; echo evil >.git/hooks/pre-commit; echo planted; read x`

// If commands overlap, of one job, of two, of two processes, or of a directory inside, the end of
// a later one does not restore a file that an earlier one had planted.
func TestOneBaseline(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		cache := t.TempDir()
		r, dir := cellmate(t, SandboxOptions{Level: level, Cache: cache})
		dirtest.Git(t, dir, "init", "-q")
		sub := filepath.Join(dir, "sub")
		dirtest.Must(t, os.Mkdir(sub, 0o755))
		config := dirtest.Content(t, filepath.Join(dir, ".git/config"))
		more := func(dir string) *Runner {
			r := New(dir, "", nil, WithSandbox(SandboxOptions{Level: level, Private: t.TempDir(), Cache: cache}))
			t.Cleanup(func() { dirtest.Must(t, r.Close()) })
			return r
		}
		start := func(r *Runner, script, said string) (end func()) {
			p, err := r.Start(t.Context(), Cmd{Shell: script, Interactive: true})
			dirtest.Must(t, err)
			for !strings.Contains(p.Output().Text, said) {
				if !p.running() {
					t.Fatalf("%+v", p.Output())
				}
				time.Sleep(5 * time.Millisecond)
			}
			return func() {
				_, err := p.Stdin().Write([]byte("on\n"))
				dirtest.Must(t, err)
				<-p.Done()
			}
		}
		first, inside := start(r, plant, "planted"), start(more(sub), "mkdir -p .vscode; echo evil >.vscode/tasks.json; echo planted; read x", "planted")
		const wait = "echo begun; read x"
		second, third := start(r, wait, "begun"), start(more(dir), wait, "begun")
		fourth := another(t, dir, level, cache)
		for _, end := range []func(){first, inside, second, third, fourth} {
			end()
		}
		if got := dirtest.Content(t, filepath.Join(dir, ".git/config")); got != config {
			t.Errorf("the settings are %q and were %q", got, config)
		}
		for _, name := range []string{".git/commondir", ".vscode", ".claude", ".git/hooks/pre-commit", "sub/.vscode"} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				t.Errorf("%s is there", name)
			}
		}
		if o := did(t, r, "git status --short", 0, ""); rootfs.Exists(filepath.Join(dir, "evil")) {
			t.Errorf("%+v", o)
		}
		if left, err := os.ReadDir(filepath.Join(cache, "baselines")); err != nil || len(left) != 1 {
			t.Errorf("left are %v, %v: not the lock alone", left, err)
		}
	})
}

// another has a process of its own run a command in dir until the returned func is called.
func another(t *testing.T, dir string, level sandbox.Level, cache string) (end func()) {
	t.Helper()
	cmd, said := child(t, "overlap", dir)
	cmd.Args = append(cmd.Args, string(level), cache, t.TempDir())
	in, err := cmd.StdinPipe()
	dirtest.Must(t, err)
	out, err := cmd.StdoutPipe()
	dirtest.Must(t, err)
	dirtest.Must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "begun\n" {
		t.Fatalf("%q, %v: %s", line, err, said)
	}
	return func() {
		dirtest.Must(t, in.Close())
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, said)
		}
	}
}

// Files that are made or changed at the level landlock while a command runs whose process is then
// killed are named when the next job begins there, once.
func TestWhatTheKilledLeft(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	dir := filepath.Join(t.TempDir(), "ws")
	dirtest.Must(t, os.Mkdir(dir, 0o755))
	dirtest.Git(t, dir, "init", "-q")
	dirtest.Write(t, filepath.Join(dir, ".mcp.json"), "{}")
	cmd, said := child(t, "overlap", dir)
	cmd.Args = append(cmd.Args, string(sandbox.Landlock), cache, t.TempDir())
	in, err := cmd.StdinPipe()
	dirtest.Must(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	dirtest.Must(t, err)
	dirtest.Must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "begun\n" {
		t.Fatalf("%q, %v: %s", line, err, said)
	}
	dirtest.Must(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	planted := []string{".git/commondir", ".git/config", ".git/hooks", ".vscode", "sub/.git"}
	dirtest.Write(t, filepath.Join(dir, ".git/commondir"), "../x\n")
	dirtest.Write(t, filepath.Join(dir, ".git/config"), "[core]\n\tfsmonitor = evil\n")
	dirtest.Write(t, filepath.Join(dir, ".git/hooks/pre-commit"), "evil")
	dirtest.Write(t, filepath.Join(dir, ".vscode/tasks.json"), "evil")
	dirtest.Write(t, filepath.Join(dir, "sub/.git"), "gitdir: ../../elsewhere\n")
	open := func(dir string) (*Runner, *ledger.Ledger) {
		led, err := ledger.Open(t.TempDir(), nil)
		dirtest.Must(t, err)
		t.Cleanup(func() { dirtest.Must(t, led.Close()) })
		r := New(dir, "", led, WithSandbox(SandboxOptions{Level: sandbox.Landlock, Private: t.TempDir(), Cache: cache}))
		t.Cleanup(func() { dirtest.Must(t, r.Close()) })
		return r, led
	}
	elsewhere, led := open(t.TempDir())
	dirtest.Must(t, elsewhere.LookBack())
	if notes := led.TakeNotes(); len(notes) != 0 {
		t.Errorf("elsewhere: %q", notes)
	}
	did(t, elsewhere, "true", 0, "")
	r, led := open(dir)
	dirtest.Must(t, r.LookBack())
	notes := strings.Join(led.TakeNotes(), "; ")
	_, list, _ := strings.Cut(notes, ": ")
	var want []string
	for _, p := range planted {
		want = append(want, filepath.Join(dir, p))
	}
	if list != strings.Join(want, ", ") {
		t.Errorf("named are %s", notes)
	}
	dirtest.Must(t, r.LookBack())
	if notes := led.TakeNotes(); len(notes) != 0 {
		t.Errorf("named again: %q", notes)
	}
}

// A killed process's baseline is not used by later commands, and a process that is killed before
// it has a state keeps nobody waiting.
func TestBaselineOfTheDead(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	s := scanned(t, dir)
	dead, err := openBaseline(cache, []*scan{s})
	dirtest.Must(t, err)
	dirtest.Must(t, lock.Close(dead.running))
	dirtest.Must(t, lock.Close(dead.state))
	dying, err := openBaseline(cache, []*scan{s})
	dirtest.Must(t, err)
	b, err := openBaseline(cache, []*scan{s})
	dirtest.Must(t, err)
	if len(dying.earlier) != 0 || len(b.earlier) != 1 {
		t.Errorf("earlier than the second are %d, than the third %d", len(dying.earlier), len(b.earlier))
	}
	dirtest.Must(t, lock.Close(dying.state))
	if states, err := b.others(); err != nil || len(states) != 0 {
		t.Errorf("%v, %v", states, err)
	}
	dying.state = nil
	dying.close()
	b.close()
	if left, err := os.ReadDir(cache); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v: not the lock alone", left, err)
	}
}
