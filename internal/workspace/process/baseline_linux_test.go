package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dirtest"
	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/workspace/sandbox"
)

// A file that the settings include is not changed or made by a command, and no list of
// a rebase has the user run what a command wrote into it. One that git writes stays.
func TestGitObeys(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		if level == sandbox.Off {
			t.Skip("nothing is protected")
		}
		t.Parallel()
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
		want := dirtest.Content(t, filepath.Join(dir, "team.conf")) + dirtest.Content(t, filepath.Join(dir, "sub/more.conf"))
		did(t, r, `for f in team.conf absent.conf sub/more.conf; do printf '[core]\n\tfsmonitor = evil\n' >>$f; done; rm -f team.conf; mkdir .git/rebase-merge; echo 'exec evil' >.git/rebase-merge/git-rebase-todo; true`, 0, "")
		if got := dirtest.Content(t, filepath.Join(dir, "team.conf")) + dirtest.Content(t, filepath.Join(dir, "sub/more.conf")); got != want {
			t.Errorf("the included files are %q", got)
		}
		for _, name := range []string{"absent.conf", ".git/rebase-merge/git-rebase-todo"} {
			if rootfs.Exists(filepath.Join(dir, name)) {
				t.Errorf("%s is there", name)
			}
		}
		did(t, r, `echo 'pick 0123 x' >.git/rebase-merge/git-rebase-todo`, 0, "")
		if !rootfs.Exists(filepath.Join(dir, ".git/rebase-merge/git-rebase-todo")) {
			t.Error("a list without programs was taken away")
		}
	})
}

// Of two commands that overlap, of one job or of two, the end of the second does not
// put back what the first had planted.
func TestOneBaseline(t *testing.T) {
	t.Parallel()
	const plant = `printf '[core]\n\tfsmonitor = evil\n' >>.git/config; echo . >.git/commondir; mkdir -p .vscode && echo evil >.vscode/tasks.json; ln -s /etc .claude; echo evil >.git/hooks/pre-commit; echo planted; read x`
	levels(t, func(t *testing.T, level sandbox.Level) {
		if level == sandbox.Off {
			t.Skip("nothing is protected")
		}
		t.Parallel()
		r, dir := cellmate(t, SandboxOptions{Level: level})
		dirtest.Git(t, dir, "init", "-q")
		config := dirtest.Content(t, filepath.Join(dir, ".git/config"))
		other := New(dir, "", nil, WithSandbox(SandboxOptions{Level: level, Private: t.TempDir()}))
		t.Cleanup(func() { dirtest.Must(t, other.Close()) })
		start := func(r *Runner, script, said string) *Process {
			p, err := r.Start(t.Context(), Cmd{Shell: script, Interactive: true})
			dirtest.Must(t, err)
			for !strings.Contains(p.Output().Text, said) {
				if !p.running() {
					t.Fatalf("%+v", p.Output())
				}
				time.Sleep(5 * time.Millisecond)
			}
			return p
		}
		first := start(r, plant, "planted")
		second, third := start(r, "echo begun; read x", "begun"), start(other, "echo begun; read x", "begun")
		for _, p := range []*Process{first, second, third} {
			_, err := p.Stdin().Write([]byte("on\n"))
			dirtest.Must(t, err)
			<-p.Done()
		}
		if got := dirtest.Content(t, filepath.Join(dir, ".git/config")); got != config {
			t.Errorf("the settings are %q and were %q", got, config)
		}
		for _, name := range []string{".git/commondir", ".vscode", ".claude", ".git/hooks/pre-commit"} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				t.Errorf("%s is there", name)
			}
		}
		if o := did(t, r, "git status --short", 0, ""); rootfs.Exists(filepath.Join(dir, "evil")) {
			t.Errorf("%+v", o)
		}
		baselines.Lock()
		defer baselines.Unlock()
		for _, b := range baselines.of {
			if b.held[filepath.Join(dir, ".git/config")] != nil {
				t.Error("the baseline is still there")
			}
		}
	})
}
