package process

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// undoRounds returns the number of jobs that TestUndoIsTrue runs at each level.
func undoRounds() int { return testenv.Sample(2, 1000) }

// hiding are commands that make git ignore or forget files, or that make a repository around them,
// so that git does not list their changes.
var hiding = []string{
	"echo %s >.gitignore", "echo %s >>.gitignore", "rm -f .gitignore", "echo '*' >.gitignore", "echo '!ig' >>.gitignore", "echo '*' >data/.gitignore",
	"echo %s >>.git/info/exclude", "echo '*' >.git/info/exclude", "rm -rf .git/info; mkdir -p .git/info; echo '*' >.git/info/exclude",
	"git rm -rq --cached %s", "git add -A", "git add -f %s", "git -c user.name=x -c user.email=x@y commit -qam x", "git update-index --assume-unchanged %s", "git update-index --skip-worktree %s",
	"rm -f .git/index", "git init -q data", "mkdir -p data/.git", "echo '*' >new-exclude; git config core.excludesFile \"$PWD/new-exclude\"",
	"echo . >.git/commondir", "rm -rf n", "rm -rf n/.git", "git init -q fresh",
	"touch .git/index.lock", "touch .git/refs/heads/x.lock", "git config core.bare true", "git config core.worktree /tmp", "echo x >>.git/hooks/post-commit", "rm .git/config", "git rev-parse HEAD >.git/shallow",
	"git config extensions.worktreeConfig true; git config --worktree core.sparseCheckout true", "echo '* -text' >.git/info/attributes", "mv n data/", "printf '* -text\\n' >.gitattributes",
}

// harming are commands that change files.
var harming = []string{
	"rm -rf %s", "echo evil >>%s", ": >%s", "mv %s moved", "mv %s data/", "chmod 600 %s", "rm -rf %s; mkdir %[1]s; echo x >%[1]s/x", "ln -sfn ../outside %s",
	"echo made >made; echo x >data/made; mkdir -p n/m; echo x >n/m/x", "git checkout -q -- .", "git clean -fdq", "git clean -fdxq", "git stash -qu", "mkdir -p clone/.git; mv %s clone/", "sed -i s/text/TEXT/ %s",
	"rm -rf %s; mkfifo %[1]s", "rm -rf %s; ln -s ../outside %[1]s", "rmdir empty; mkdir -p full", "chmod 700 %s", "rm -rf data/sub; ln -s ../empty data/sub",
	"mkfifo pipe data/pipe", "ln tracked second", "ln -f tracked %s", "cp %s c; mv c %[1]s", "chmod +t %s", "mkfifo data/pipe; rm -f data/sub/b data/pipe", "rm old-pipe",
}

var undoNames = []string{"tracked", "dirty", "untracked", "data", "data/a", "data/sub/b", "ig/i", "ig", "small.ig", "link", "empty", "n/f"}

func undoCommand(rnd *rand.Rand) string {
	var b strings.Builder
	for range 1 + rnd.IntN(4) {
		from := harming
		if rnd.IntN(2) == 0 {
			from = hiding
		}
		c := from[rnd.IntN(len(from))]
		if strings.Contains(c, "%") && !strings.HasPrefix(c, "printf") {
			c = fmt.Sprintf(c, undoNames[rnd.IntN(len(undoNames))])
		}
		fmt.Fprintf(&b, "(%s) 2>/dev/null\n", c)
	}
	return b.String() + "true"
}

// For all commands that change what git ignores, tracks and takes for a repository: after undo
// each file is restored, or is named.
func TestUndoIsTrue(t *testing.T) {
	t.Parallel()
	seed := testenv.Seed(t)
	known := [][]string{ // each was a loss of a file
		{"echo data >.gitignore; rm -rf data"},
		{"echo '*' >>.git/info/exclude; rm tracked untracked"},
		{"git rm -q --cached tracked; echo tracked >.git/info/exclude; echo evil >>tracked"},
		{"echo data >.gitignore", "rm -rf data"},
		{"echo '*' >.gitignore", "echo x >made; mkdir n/m; echo x >n/m/x", "echo y >>made; mkdir full"},
		{"git rm -rq --cached .; echo '*' >.git/info/exclude", "rm -rf tracked data; echo evil >>untracked"},
		{"git init -q data; echo evil >>data/a", "rm -rf data/sub"},
		{"mkdir -p data/.git; rm -rf data/a"},
		{"echo . >.git/commondir; rm untracked"},
		{"git config core.bare true; git config core.worktree /tmp; touch .git/index.lock", "echo evil >>tracked"},
		{"echo x >.git/hooks/post-commit; echo '* -text' >.git/info/attributes; git rev-parse HEAD >.git/shallow", "rm .git/config .git/hooks/post-commit"},
		{"rm -rf ig small.ig; echo evil >large.ig"},
		{"rm -r data; ln -s ../outside data"},
		{"rm -r data", "ln -s empty data"},
		{"rm tracked untracked; mkfifo tracked untracked"},
		{"rm -rf n"},
		{"mv n data/"},
		{"git init -q fresh"},
		{"chmod 700 data/sub; rmdir empty; mkdir full"},
		{"mkfifo pipe data/pipe; rm old-pipe"},
		{"rm old-pipe; echo x >old-pipe"},
		{"echo '*' >new-exclude; git config core.excludesFile \"$PWD/new-exclude\"; echo x >made", "rm made; echo x >data/made"},
		{"echo keep >listed; ln -s listed linked; git config core.excludesFile \"$PWD/linked\"", "echo made >>listed; echo x >made"},
		{"cp tracked c; mv c tracked; cp -r data e; rm -rf data; mv e data"}, // without the attributes
		{"echo evil >>tracked; echo evil >>small.ig"},                        // which keep them
		{"chmod -t empty; chmod +t full data; ln tracked second", "ln -f tracked untracked"},
	}
	test := func(t *testing.T, level sandbox.Level) {
		rounds := slices.Clone(known)
		for i := range undoRounds() {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			var cs []string
			for range 1 + rnd.IntN(3) {
				cs = append(cs, undoCommand(rnd))
			}
			rounds = append(rounds, cs)
		}
		for i, commands := range rounds {
			if i < len(known) && !testenv.Chosen(t, 6, strconv.Itoa(i)) {
				continue
			}
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				t.Logf("seed %d", seed)
				undoIsTrue(t, level, commands)
			})
		}
	}
	levels(t, test)
	t.Run(string(sandbox.Off), func(t *testing.T) { test(t, sandbox.Off) })
}

func undoIsTrue(t *testing.T, level sandbox.Level, commands []string) {
	base := t.TempDir()
	dir := filepath.Join(base, "ws")
	dirtest.Write(t, filepath.Join(base, "outside", "a"), "text of somebody else\n") // commands may lead there, and change it
	for _, p := range []string{"tracked", "dirty", "data/a", "untracked", "data/sub/b", "ig/i", "small.ig"} {
		dirtest.Write(t, filepath.Join(dir, p), "text of "+p+"\n")
	}
	dirtest.Must(t, os.Symlink("tracked", filepath.Join(dir, "link")))
	first := filepath.Join(base, "first")
	for _, d := range []string{dir, first} {
		dirtest.Write(t, filepath.Join(d, ".gitignore"), "ig\n*.ig\n")
	}
	dirtest.Must(t, os.WriteFile(filepath.Join(dir, "large.ig"), make([]byte, 17<<20), 0o644))
	dirtest.Must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	dirtest.Must(t, os.Chmod(filepath.Join(dir, "empty"), 0o755|fs.ModeSticky))
	dirtest.Must(t, unix.Mkfifo(filepath.Join(dir, "old-pipe"), 0o644))
	for _, p := range []string{"tracked", "data", "small.ig"} {
		if err := unix.Setxattr(filepath.Join(dir, p), "user.note", []byte(p), 0); err != nil {
			t.Log(err) // of a file system without attributes
		}
	}
	dirtest.Write(t, filepath.Join(dir, "n/f"), "text of another repository\n")
	dirtest.Git(t, filepath.Join(dir, "n"), "init", "-q")
	dirtest.Git(t, filepath.Join(dir, "n"), "add", ".")
	dirtest.Git(t, filepath.Join(dir, "n"), "commit", "-qm", "x")
	dirtest.Git(t, dir, "init", "-q")
	dirtest.Git(t, dir, "add", "tracked", "dirty", "data/a", ".gitignore")
	dirtest.Git(t, dir, "commit", "-qm", "x")
	dirtest.Write(t, filepath.Join(dir, "dirty"), "text, and more\n")
	want := workOf(t, dir)
	led, err := ledger.Open(filepath.Join(base, "ledger"), overlay.Recover)
	dirtest.Must(t, err)
	defer led.Close()
	r := New(dir, "", led, WithSandbox(SandboxOptions{Level: level, Private: filepath.Join(base, "private"), Limits: sandbox.Limits{FreeMB: -1}}))
	defer r.Close()
	ignored := map[string]bool{}
	for i, c := range commands {
		ignoredNow(dir, first, ignored)
		o, err := r.Run(ledger.AtStep(t.Context(), strconv.Itoa(i+1)), Cmd{Shell: c, Snapshot: true, Timeout: time.Minute})
		if err != nil && level == sandbox.Bubblewrap && strings.Contains(err.Error(), "permission") {
			t.Logf("%s\nis refused: %v", c, err) // a directory that only root may enter cannot be guarded by name
			continue
		}
		dirtest.Must(t, err)
		t.Logf("%s\ncode %d, changed %q, uncertain %v: %s", c, o.Code, o.Changed, o.Uncertain, o.Note)
	}
	if err := led.Fault(); err != nil {
		t.Error(err)
	}
	incomplete := led.Incomplete(t.Context())
	u, err := led.All().IncludeUncertain().Undo(t.Context(), dir)
	dirtest.Must(t, err)
	got := workOf(t, dir)
	for _, p := range slices.Sorted(keys(want, got)) {
		if want[p] == got[p] || fewerNames(want[p], got[p]) || nameless(want, got, ignored, p) {
			continue
		}
		named := slices.ContainsFunc(u.Skipped, func(s ledger.Skipped) bool {
			return s.Path == p || ".git/"+s.Path == p || strings.HasPrefix(p, s.Path+"/") || strings.HasPrefix(s.Path, p+"/")
		}) || slices.ContainsFunc(incomplete, func(s string) bool { return strings.Contains(s, strings.TrimSuffix(p, "/HEAD")) })
		if !named {
			t.Errorf("%s was %q and is %q after undo, which does not name it: skipped %+v, incomplete %q", p, want[p], got[p], u.Skipped, incomplete)
		}
	}
}

// ignoredNow adds the names of files that git would ignore if a command made them, by the ignore files in first, which
// are those from before the job.
func ignoredNow(dir, first string, ignored map[string]bool) {
	all := []string{"made", "n", "n/m", "n/m/x", "moved", "moved/x", "moved/a", "moved/sub", "moved/sub/b", "moved/i", "new-exclude", ".gitignore", ".gitattributes", "second", "c", "e", "pipe"}
	for _, name := range undoNames {
		all = append(all, name, name+"/x", "clone/"+filepath.Base(name))
	}
	for _, p := range slices.Clone(all) {
		all = append(all, "data/"+p)
	}
	all = slices.DeleteFunc(all, func(p string) bool { // git fails at a name behind a link
		for d := filepath.Dir(p); d != "."; d = filepath.Dir(d) {
			if info, err := os.Lstat(filepath.Join(dir, d)); err == nil && !info.IsDir() {
				return true
			}
		}
		return false
	})
	cmd := exec.Command("git", "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Env = append(os.Environ(), "GIT_DIR="+filepath.Join(dir, ".git"), "GIT_WORK_TREE="+first)
	cmd.Dir, cmd.Stdin = first, strings.NewReader(strings.Join(all, "\x00")+"\x00")
	out, _ := cmd.Output() // 1: none
	for p := range strings.SplitSeq(string(out), "\x00") {
		ignored[p] = true
	}
}

// fewerNames reports whether a file only had fewer names before: another name is a path of its own.
func fewerNames(want, got string) bool {
	a, n, _ := strings.Cut(want, " names: ")
	b, m, _ := strings.Cut(got, " names: ")
	return a == b && n < m
}

// nameless reports whether a difference is one that the ledger does not name: a new file that git
// ignored before the command that made it, and not by what the job wrote.
func nameless(want, got map[string]string, ignored map[string]bool, p string) bool {
	if want[p] != "" {
		return false
	}
	for d := p; d != "."; d = filepath.Dir(d) {
		if ignored[d] {
			return true
		}
	}
	below := 0
	for in := range got {
		if strings.HasPrefix(in, p+"/") {
			if below++; !nameless(want, got, ignored, in) {
				return false
			}
		}
	}
	return below > 0
}

func keys(maps ...map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		seen := map[string]bool{}
		for _, m := range maps {
			for k := range m {
				if !seen[k] && !yield(k) {
					return
				}
				seen[k] = true
			}
		}
	}
}

// workOf lists the content of a workspace: of a git directory only HEAD, and of the workspace's
// own the list of ignored files.
func workOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	dirtest.Must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		switch {
		case err != nil:
			return err
		case d.Name() == ".git" && d.IsDir():
			names := []string{"HEAD"}
			if rel == ".git" {
				names = []string{"info/exclude", "info/attributes", "config", "config.worktree", "commondir", "shallow", "hooks/post-commit", "index.lock", "refs/heads/x.lock"}
			}
			for _, what := range names {
				b, err := os.ReadFile(filepath.Join(p, what)) // not there: empty
				out[filepath.Join(rel, what)] = fmt.Sprint("git directory: ", string(b), strings.HasSuffix(what, ".lock") && err == nil)
			}
			return fs.SkipDir
		case rel == ".":
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			text, err = os.Readlink(p)
		case d.Type().IsRegular() && info.Size() < 1<<20:
			var b []byte
			b, err = os.ReadFile(p)
			text = string(b)
		case d.Type().IsRegular():
			text = strconv.FormatInt(info.Size(), 10)
		}
		if err != nil {
			return err
		}
		fd, err := unix.Open(filepath.Dir(p), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		dirtest.Must(t, err)
		defer unix.Close(fd)
		out[rel] = fmt.Sprint(info.Mode(), rootfs.AttrsAt(fd, d.Name()), text)
		if d.Type().IsRegular() {
			out[rel] += fmt.Sprint(" names: ", info.Sys().(*syscall.Stat_t).Nlink)
		}
		return err
	}))
	return out
}
