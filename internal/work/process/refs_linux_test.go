package process

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// moving are commands that move references, and change the index and the operation in progress.
var moving = []string{
	"echo $RANDOM%[1]d >>f; git add f", "echo %[1]d >n%[1]d; git add .", "git rm -q --cached f", "git mv f f%[1]d", "git update-index --skip-worktree g",
	"git commit -qam c%[1]d", "git commit -q --allow-empty -m e%[1]d", "git commit -q --amend -m a%[1]d --allow-empty",
	"git branch b%[1]d", "git branch -f b%[1]d HEAD~1", "git branch -D topic", "git branch -m topic t%[1]d", "git branch -m main m%[1]d", "git branch topic/x%[1]d",
	"git tag v%[1]d", "git tag -a -m x w%[1]d", "git tag -d v1", "git tag -f v1",
	"git reset -q --hard HEAD~1", "git reset -q --soft HEAD~1", "git reset -q HEAD~1", "git checkout -q topic", "git checkout -q --detach", "git checkout -q -b n%[1]d", "git checkout -q -f main",
	"git merge -q --no-edit topic", "git rebase -q topic", "git rebase -q --onto topic HEAD~1", "git rebase --abort", "git cherry-pick topic", "git cherry-pick --abort", "git revert --no-edit HEAD",
	"git stash -q", "git stash pop -q", "git stash drop -q", "git pack-refs --all", "git pack-refs --all --prune", "git gc -q", "git symbolic-ref refs/heads/sym refs/heads/main",
	"git update-ref refs/x/y HEAD", "git update-ref -d refs/heads/main", "git notes add -f -m note%[1]d", "git bisect start HEAD HEAD~1", "rm -f .git/index", "git worktree add -q wt%[1]d topic",
	"git fast-import --quiet </dev/null", "git replace -f HEAD HEAD~1", "echo %[1]d >>g",
}

// refRounds returns the number of jobs that TestUndoMovesReferences runs at each level.
func refRounds() int { return min(3*undoRounds(), 400) }

// For all commands that change branches, tags, HEAD and the index: after undo each is restored, or
// is named.
func TestUndoMovesReferences(t *testing.T) {
	t.Parallel()
	seed := testenv.Seed(t)
	known := [][]string{
		{"echo 1 >>f; git commit -qam c", "git checkout -q -b n; git branch -D main"},
		{"git branch -D topic; git branch topic/x; git pack-refs --all"},
		{"git checkout -q --detach; git branch -D main; git tag -d v1"},
		{"git stash -q; git merge -q --no-edit topic; echo x >f"},
		{"git reset -q --hard; git cherry-pick HEAD~1 topic >/dev/null 2>&1; [ -d .git/sequencer ]"},
	}
	var without []sandbox.Level // landlock compares references, too
	if !testenv.Night() {
		without = []sandbox.Level{sandbox.Bubblewrap}
	}
	levels(t, func(t *testing.T, level sandbox.Level) {
		rounds := slices.Clone(known)
		for i := range refRounds() {
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			var cs []string
			for range 1 + rnd.IntN(3) {
				var b strings.Builder
				for range 1 + rnd.IntN(4) {
					c := moving[rnd.IntN(len(moving))]
					if strings.Contains(c, "%") {
						c = fmt.Sprintf(c, rnd.IntN(3))
					}
					fmt.Fprintf(&b, "(%s) >/dev/null 2>&1\n", c)
				}
				cs = append(cs, b.String()+"true")
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
				referencesAreBack(t, level, commands)
			})
		}
	}, without...)
}

// refJob makes a job in a repository with a few branches.
func refJob(t *testing.T, level sandbox.Level) (*Runner, *ledger.Ledger, string) {
	base := t.TempDir()
	dir := filepath.Join(base, "ws")
	dirtest.Must(t, os.Mkdir(dir, 0o755))
	dirtest.Git(t, dir, "init", "-q", "-b", "main")
	dirtest.Git(t, dir, "config", "user.name", "x")
	dirtest.Git(t, dir, "config", "user.email", "x@y")
	for _, n := range []string{"1", "2", "3"} {
		dirtest.Write(t, filepath.Join(dir, "f"), n+"\n")
		dirtest.Write(t, filepath.Join(dir, "g"), "g\n")
		dirtest.Git(t, dir, "add", ".")
		dirtest.Git(t, dir, "commit", "-qm", n)
	}
	dirtest.Git(t, dir, "tag", "v1", "HEAD~1")
	dirtest.Git(t, dir, "checkout", "-qb", "topic", "HEAD~1")
	dirtest.Write(t, filepath.Join(dir, "h"), "h\n")
	dirtest.Git(t, dir, "add", "h")
	dirtest.Git(t, dir, "commit", "-qm", "topic")
	dirtest.Git(t, dir, "pack-refs", "--all")
	dirtest.Git(t, dir, "checkout", "-q", "main")
	dirtest.Write(t, filepath.Join(dir, "staged"), "staged\n")
	dirtest.Git(t, dir, "add", "staged")
	led, err := ledger.Open(filepath.Join(base, "ledger"), overlay.Recover)
	dirtest.Must(t, err)
	t.Cleanup(func() { dirtest.Must(t, led.Close()) })
	r := New(dir, "", led, WithSandbox(SandboxOptions{Level: level, Private: filepath.Join(base, "private"), Limits: sandbox.Limits{FreeMB: -1}}))
	t.Cleanup(func() { dirtest.Must(t, r.Close()) })
	return r, led, dir
}

// step runs one command of a job.
func step(t *testing.T, r *Runner, n, command string) {
	t.Helper()
	o, err := r.Run(ledger.AtStep(t.Context(), n), Cmd{Shell: command, Snapshot: true, Timeout: 5 * time.Minute})
	dirtest.Must(t, err)
	t.Logf("%s\ncode %d, changed %q: %s%s", command, o.Code, o.Changed, o.Text, o.Note)
}

func referencesAreBack(t *testing.T, level sandbox.Level, commands []string) {
	r, led, dir := refJob(t, level)
	want := references(t, dir)
	for i, c := range commands {
		step(t, r, strconv.Itoa(i+1), c)
	}
	left := references(t, dir)
	all := led.All().IncludeUncertain()
	u, err := all.Undo(t.Context(), dir)
	dirtest.Must(t, err)
	same := func(want map[string]string, u ledger.UndoReport, when string) {
		got := references(t, dir)
		for _, name := range slices.Sorted(keys(want, got)) {
			if want[name] != got[name] && !slices.ContainsFunc(u.Skipped, func(s ledger.Skipped) bool { return s.Path == name }) {
				t.Errorf("%s was %q and is %q after %s, which does not name it: %+v", name, want[name], got[name], when, u)
			}
		}
	}
	same(want, u, "undo")
	again, err := all.Undo(t.Context(), dir)
	dirtest.Must(t, err)
	if len(again.Moved) > 0 {
		t.Errorf("another undo moved %+v", again.Moved)
	}
	if u.Step == "" {
		return
	}
	part, err := led.Step(t.Context(), u.Step)
	dirtest.Must(t, err)
	redo, err := part.Undo(t.Context(), dir)
	dirtest.Must(t, err)
	redo.Skipped = append(redo.Skipped, u.Skipped...)
	same(left, redo, "the undo of the undo")
}

// references returns the references of a repository as git lists them, its HEAD, what is staged,
// and what is in progress.
func references(t *testing.T, dir string) map[string]string {
	t.Helper()
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_NO_REPLACE_OBJECTS=1")
		out, _ := cmd.Output() // of a branch without commits, HEAD is none
		return strings.TrimSpace(string(out))
	}
	all := map[string]string{"index": git("ls-files", "-s", "-v")}
	for line := range strings.Lines(git("for-each-ref", "--format=%(refname) %(objectname) %(symref)")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(name, "refs/bisect/") && !strings.HasPrefix(name, "refs/rewritten/") {
			all[name] = value
		}
	}
	all["HEAD"] = git("symbolic-ref", "-q", "HEAD")
	if all["HEAD"] == "" {
		all["HEAD"] = git("rev-parse", "HEAD")
	}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer", "BISECT_LOG"} {
		if _, err := os.Lstat(filepath.Join(dir, ".git", name)); err == nil {
			all[name] = "under way"
		}
	}
	return all
}

// References that somebody moved since, or while a command ran, and branches checked out elsewhere
// stay, and are named.
func TestUndoLeavesReferences(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		const commit = "git commit -qam x --allow-empty"
		for name, c := range map[string]struct {
			command string
			since   func(t *testing.T, dir string)
			left    string
			moved   bool // of HEAD's branch
		}{
			"moved since":       {commit, func(t *testing.T, dir string) { dirtest.Git(t, dir, "commit", "-qam", "mine", "--allow-empty") }, "refs/heads/main: it has been moved since", false},
			"moved forth, back": {commit, func(t *testing.T, dir string) { dirtest.Git(t, dir, "reset", "-q", "--soft", "HEAD~1") }, "", true},
			"elsewhere": {"git branch -f topic main", func(t *testing.T, dir string) {
				dirtest.Git(t, dir, "worktree", "add", "-q", "../elsewhere", "topic")
			}, "refs/heads/topic: it is checked out in another work tree", true},
			"index":  {"echo 1 >>f; git add f", func(t *testing.T, dir string) { dirtest.Git(t, dir, "rm", "-q", "--cached", "g") }, "index: it has been moved since", true},
			"locked": {"git rm -q --cached f", func(t *testing.T, dir string) { dirtest.Write(t, filepath.Join(dir, ".git/index.lock"), "") }, "index: a git is at work", true},
			"stash":  {"echo 1 >>f; git stash -q", func(*testing.T, string) {}, "refs/stash: it is a list", true},
			"merge":  {"git reset -q; git merge -q --no-commit topic", func(*testing.T, string) {}, "MERGE_HEAD: git has begun", true},
			"gone":   {commit, func(t *testing.T, dir string) { dirtest.Must(t, os.Rename(filepath.Join(dir, ".git"), dir+".git")) }, "refs/heads/main: the repository is not there", false},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r, led, dir := refJob(t, level)
				was := references(t, dir)
				step(t, r, "1", c.command)
				c.since(t, dir)
				u, err := led.All().IncludeUncertain().Undo(t.Context(), dir)
				dirtest.Must(t, err)
				if named := fmt.Sprint(u.Skipped); c.left != "" && !strings.Contains(strings.ReplaceAll(named, "{", "\n"), strings.Replace(c.left, ": ", " ", 1)) || c.left == "" && len(u.Skipped) > 0 {
					t.Errorf("left are %+v", u.Skipped)
				}
				if now := references(t, dir); c.moved != (now["refs/heads/main"] == was["refs/heads/main"]) {
					t.Errorf("main was at %s and is at %s", was["refs/heads/main"], now["refs/heads/main"])
				}
			})
		}
	}, sandbox.Bubblewrap) // landlock compares references, too
}

// A commit that a person makes while a command runs is not the command's: an undo does not
// take it out of the branch.
func TestUndoOfWhatSomebodyElseMoves(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		r, led, dir := refJob(t, level)
		// It is there before, as an overlay need not show a name that comes later: the command would
		// wait for its time limit.
		dirtest.Write(t, filepath.Join(dir, "go"), "")
		done := make(chan *Output, 1)
		log := &waitFor{text: "begun", found: make(chan struct{})}
		go func() {
			o, err := r.Run(ledger.AtStep(t.Context(), "1"), Cmd{Shell: "echo begun; git tag mine; while ! [ -s go ]; do sleep 0.05; done", Snapshot: true, Timeout: 5 * time.Minute, Watch: log})
			if err != nil {
				t.Error(err)
			}
			done <- o
		}()
		<-log.found
		dirtest.Git(t, dir, "commit", "-qm", "a person's")
		dirtest.Write(t, filepath.Join(dir, "go"), "now")
		o := <-done
		t.Log(o.Note, o.Uncertain, o.Changed)
		now := references(t, dir)
		u, err := led.Undo(t.Context(), dir)
		dirtest.Must(t, err)
		if got := references(t, dir); got["refs/heads/main"] != now["refs/heads/main"] || got["index"] != now["index"] {
			t.Errorf("main was at %s and is at %s: %+v", now["refs/heads/main"], got["refs/heads/main"], u)
		}
		if !slices.ContainsFunc(u.Skipped, func(s ledger.Skipped) bool { return s.Path == "refs/heads/main" }) {
			t.Errorf("main is not named: %+v", u)
		}
	}, sandbox.Bubblewrap) // landlock compares references, too
}

// waitFor closes a channel when a text has come.
type waitFor struct {
	text  string
	all   strings.Builder
	found chan struct{}
}

func (w *waitFor) Write(p []byte) (int, error) {
	had := strings.Contains(w.all.String(), w.text)
	w.all.Write(p)
	if !had && strings.Contains(w.all.String(), w.text) {
		close(w.found)
	}
	return len(p), nil
}

// The branch that another job commits to in a work tree of its own is none that a command
// moved.
func TestBranchesOfOtherJobs(t *testing.T) {
	t.Parallel()
	r, led, dir := refJob(t, sandbox.Landlock)
	dirtest.Git(t, dir, "worktree", "add", "-q", "-b", "adroit/J2/work", "../j2", "main")
	dirtest.Must(t, os.Mkdir(filepath.Join(dir, ".git/refs/heads/adroit/J2", rootfs.GitInUse), 0o755))
	other := New(filepath.Join(filepath.Dir(dir), "j2"), "", nil)
	defer other.Close()
	log := &waitFor{text: "begun", found: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := r.Run(ledger.AtStep(t.Context(), "1"), Cmd{Shell: "echo begun; while ! [ -e go ]; do sleep 0.05; done", Snapshot: true, Timeout: 5 * time.Minute, Watch: log})
		if err != nil {
			t.Error(err)
		}
	}()
	<-log.found
	dirtest.Git(t, other.root, "commit", "-qm", "x", "--allow-empty")
	dirtest.Write(t, filepath.Join(dir, "go"), "")
	<-done
	refs, err := led.All().Refs(t.Context())
	if err != nil || len(refs) > 0 {
		t.Errorf("a command moved the branch of another job: %+v, %v", refs, err)
	}
}

// A git directory that a command made, and one that it moved, are named by the run and an
// undo, which leaves them, at every level; one that was there is not.
func TestUndoNamesRepositories(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		r, led, dir := refJob(t, level)
		dirtest.Git(t, dir, "init", "-q", "there")
		for n, c := range []string{"mv there moved", "git init -q data && rm g"} {
			_, err := r.Run(ledger.AtStep(t.Context(), strconv.Itoa(n+1)), Cmd{Shell: c, Snapshot: true})
			dirtest.Must(t, err)
		}
		got := led.Incomplete(t.Context())
		if level != sandbox.Full { // there it does not leave the overlay
			moved := func(note string) bool { return strings.Contains(note, "there/.git was moved to moved/.git") }
			if !slices.ContainsFunc(got, moved) {
				t.Errorf("%q", got)
			}
			got = slices.DeleteFunc(got, moved)
		}
		if len(got) != 1 || !strings.HasSuffix(got[0], " data/.git") {
			t.Errorf("%q", got)
		}
	})
}

// TestTakenAwayIsNotNamed: what a command had git begin, and the protection took away, is not named
// as under way.
func TestTakenAwayIsNotNamed(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		r, led, dir := refJob(t, level)
		_, err := r.Run(t.Context(), Cmd{Shell: `mkdir .git/rebase-merge; echo 'exec evil' >.git/rebase-merge/git-rebase-todo`, Snapshot: true})
		dirtest.Must(t, err)
		if there := rootfs.Exists(filepath.Join(dir, ".git/rebase-merge")); there != (level == sandbox.Off) {
			t.Fatalf("at level %s it is there: %v", level, there)
		} else if there {
			return
		}
		for _, p := range []ledger.Selection{led.All(), led.All().IncludeUncertain()} {
			if refs, err := p.Refs(t.Context()); err != nil || len(refs) > 0 {
				t.Errorf("%+v, %v", refs, err)
			}
		}
	})
}
