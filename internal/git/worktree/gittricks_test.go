package worktree

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/work/process"
)

// A trap is a repository in which git is made to run a program.
type trap struct {
	*testing.T
	dir  string // the repository
	at   string // where to work in it; dir if empty
	run  string // the program
	mark string // made by it
}

func (tr *trap) Config(file string, kv ...string) {
	tr.Helper()
	dirtest.Config(tr.T, filepath.Join(tr.dir, file), kv...)
}

func (tr *trap) attributes(lines string) {
	tr.Helper()
	dirtest.Write(tr.T, filepath.Join(tr.dir, ".git/info/attributes"), lines)
}

// plain runs git as anybody would and reports whether that sprang the trap.
func (tr *trap) plain(args ...string) bool {
	tr.Helper()
	ctx, cancel := context.WithTimeout(tr.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = tr.at
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "GIT_EDITOR=true",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")
	_ = cmd.Run() // many a trap makes it fail
	_, err := os.Stat(tr.mark)
	_ = os.Remove(tr.mark)
	return err == nil
}

// tricks are ways to make git run a program. What plain git does with each is
// run first, so that a trick that is none fails the test; nil where this
// version of git does not fall for it.
var tricks = map[string]struct {
	set   func(tr *trap)
	plain []string
}{
	"core.fsmonitor": {func(tr *trap) { tr.Config(".git/config", "core.fsmonitor", tr.run) }, []string{"status"}},
	"hooks":          {func(tr *trap) { plant(tr, filepath.Join(tr.dir, ".git/hooks")) }, []string{"commit", "-qam", "x"}},
	"core.hooksPath": {func(tr *trap) {
		plant(tr, filepath.Join(tr.dir, "h"))
		tr.Config(".git/config", "core.hooksPath", "h")
	}, []string{"switch", "-q", "-c", "other"}},
	"diff.external": {func(tr *trap) { tr.Config(".git/config", "diff.external", tr.run) }, []string{"diff"}},
	"diff.x.command": {func(tr *trap) {
		tr.Config(".git/config", "diff.x.command", tr.run)
		tr.attributes("* diff=x\n")
	}, []string{"diff"}},
	"textconv in a diff": {func(tr *trap) {
		tr.Config(".git/config", "diff.x y.textconv", tr.run)
		tr.attributes("*.txt diff=x y\n*.txt diff=z\n")
		tr.Config(".git/config", "diff.z.textconv", tr.run)
	}, []string{"diff"}},
	"textconv in a commit": {func(tr *trap) {
		tr.Config(".git/config", "diff.x.textconv", tr.run, "diff.x.cachetextconv", "true")
		tr.attributes("* diff=x\n")
	}, []string{"show"}},
	"textconv in blame": {func(tr *trap) {
		tr.Config(".git/config", "diff.x.textconv", tr.run)
		tr.attributes("* diff=x\n")
	}, []string{"blame", "d0/f0.txt"}},
	"filter.clean": {func(tr *trap) {
		tr.Config(".git/config", "filter.a=b.clean", tr.run, "filter.x.clean", tr.run)
		dirtest.Write(tr.T, filepath.Join(tr.dir, ".gitattributes"), "*.txt filter=x\n*.sh filter=a=b\n")
	}, []string{"diff"}},
	"filter.smudge": {func(tr *trap) {
		tr.Config(".git/config", "filter.x.smudge", tr.run)
		tr.attributes("* filter=x\n")
	}, []string{"checkout", "-q", "-f", "old"}},
	"filter.process": {func(tr *trap) {
		tr.Config(".git/config", "filter.x.process", tr.run, "filter.x.required", "true")
		tr.attributes("* filter=x\n")
	}, []string{"add", "-A"}},
	"merge driver": {func(tr *trap) {
		tr.Config(".git/config", "merge.x.driver", tr.run+" %A")
		tr.attributes("* merge=x\n")
	}, []string{"merge", "-q", "side"}},
	"alias": {func(tr *trap) {
		tr.Config(".git/config", "alias.st", "!"+tr.run, "alias.status", "!"+tr.run, "alias.diff", "!"+tr.run)
	}, []string{"st"}},
	"include.path": {func(tr *trap) {
		tr.Config("inc", "core.fsmonitor", tr.run, "filter.i.clean", tr.run)
		tr.Config(".git/config", "include.path", "../inc")
		tr.attributes("* filter=i\n")
	}, []string{"status"}},
	"includeIf": {func(tr *trap) {
		tr.Config("inc", "filter.i.clean", tr.run, "filter.i.smudge", tr.run)
		tr.Config(".git/config", "includeIf.gitdir:**/.git.path", "../inc")
		tr.attributes("* filter=i\n")
	}, []string{"diff"}},
	"includeIf of the branch switched to": {func(tr *trap) {
		tr.Config("inc", "filter.i.smudge", tr.run, "filter.i.clean", tr.run)
		tr.Config(".git/config", "includeIf.onbranch:old.path", "../inc")
		tr.attributes("* filter=i\n")
	}, nil},
	"config.worktree": {func(tr *trap) {
		tr.Config(".git/config", "core.repositoryformatversion", "1", "extensions.worktreeConfig", "true")
		tr.Config(".git/config.worktree", "core.fsmonitor", tr.run, "filter.x.clean", tr.run)
		tr.attributes("* filter=x\n")
	}, []string{"status"}},
	"pager": {func(tr *trap) {
		tr.Config(".git/config", "core.pager", tr.run, "pager.log", tr.run, "pager.diff", tr.run)
	}, nil}, // it wants a terminal
	"gpg when it commits": {func(tr *trap) { tr.Config(".git/config", "gpg.program", tr.run, "commit.gpgSign", "true") }, []string{"commit", "-qam", "x"}},
	"ssh keys": {func(tr *trap) {
		tr.Config(".git/config", "gpg.format", "ssh", "gpg.ssh.program", tr.run, "gpg.ssh.defaultKeyCommand", tr.run, "commit.gpgSign", "true")
	}, []string{"commit", "-qam", "x"}},
	"a .git file": {func(tr *trap) {
		dirtest.Must(tr.T, os.Rename(filepath.Join(tr.dir, ".git"), filepath.Join(tr.dir, "d1/repo")))
		dirtest.Write(tr.T, filepath.Join(tr.dir, ".git"), "gitdir: d1/repo\n")
		tr.Config("d1/repo/config", "core.fsmonitor", tr.run)
	}, []string{"status"}},
	"commondir": {func(tr *trap) {
		dirtest.Must(tr.T, os.Rename(filepath.Join(tr.dir, ".git/config"), filepath.Join(tr.dir, "config")))
		dirtest.Must(tr.T, os.CopyFS(filepath.Join(tr.dir, "d1/common"), os.DirFS(filepath.Join(tr.dir, ".git"))))
		dirtest.Must(tr.T, os.Rename(filepath.Join(tr.dir, "config"), filepath.Join(tr.dir, "d1/common/config")))
		dirtest.Write(tr.T, filepath.Join(tr.dir, ".git/commondir"), "../d1/common\n")
		tr.Config("d1/common/config", "core.fsmonitor", tr.run)
	}, []string{"status"}},
	"a bare repository inside": {func(tr *trap) {
		bare := filepath.Join(tr.dir, "d1/bare")
		dirtest.Must(tr.T, os.CopyFS(bare, os.DirFS(filepath.Join(tr.dir, ".git"))))
		tr.Config("d1/bare/config", "core.bare", "false", "core.worktree", "..", "core.fsmonitor", tr.run)
		tr.at = bare
	}, []string{"status"}},
	"a submodule that is looked into": {func(tr *trap) { submodule(tr, "dirty") }, []string{"status"}},
	"a submodule that must not be ignored": {func(tr *trap) {
		submodule(tr, "none")
		tr.Config(".git/config", "submodule.sub.ignore", "none", "diff.submodule", "diff", "status.submoduleSummary", "true")
	}, []string{"diff"}},
	"a submodule that is added": {func(tr *trap) { submodule(tr, "none") }, nil},
	"a missing object, fetched from a path": {func(tr *trap) {
		partial(tr)
		tr.Config(".git/config", "remote.origin.url", tr.dir, "remote.origin.uploadpack", tr.run)
	}, []string{"diff"}},
	"a missing object, fetched from file://": {func(tr *trap) {
		partial(tr)
		tr.Config(".git/config", "remote.origin.url", "file://"+tr.dir, "remote.origin.uploadpack", tr.run)
	}, []string{"show", "HEAD:d0/f0.txt"}},
	"a missing object, fetched by ssh": {func(tr *trap) {
		partial(tr)
		tr.Config(".git/config", "remote.origin.url", "ssh://nowhere.invalid/x", "core.sshCommand", tr.run)
	}, []string{"diff"}},
	"a missing object, fetched by ext::": {func(tr *trap) {
		partial(tr)
		tr.Config(".git/config", "remote.origin.url", "ext::"+tr.run, "protocol.ext.allow", "always", "protocol.allow", "always")
	}, []string{"diff"}},
	"a missing object, fetched by a proxy": {func(tr *trap) {
		partial(tr)
		tr.Config(".git/config", "remote.origin.url", "git://nowhere.invalid/x", "core.gitProxy", tr.run)
	}, []string{"diff"}},
}

func plant(tr *trap, dir string) {
	tr.Helper()
	for _, h := range []string{"pre-commit", "post-commit", "commit-msg", "prepare-commit-msg", "post-checkout", "post-index-change",
		"reference-transaction", "pre-merge-commit", "post-merge", "fsmonitor-watchman"} {
		p := filepath.Join(dir, h)
		dirtest.Write(tr.T, p, dirtest.Content(tr.T, tr.run))
		dirtest.Must(tr.T, os.Chmod(p, 0o755))
	}
}

// submodule adds one with a configuration of its own.
func submodule(tr *trap, ignore string) {
	tr.Helper()
	sub := filepath.Join(tr.dir, "sub")
	dirtest.Must(tr.T, os.Mkdir(sub, 0o755))
	dirtest.Git(tr.T, sub, "init", "-q")
	dirtest.Write(tr.T, filepath.Join(sub, "s.txt"), "s\n")
	dirtest.Git(tr.T, sub, "add", "-A")
	dirtest.Git(tr.T, sub, "commit", "-qm", "s")
	dirtest.Write(tr.T, filepath.Join(tr.dir, ".gitmodules"), "[submodule \"sub\"]\n\tpath = sub\n\turl = ext::"+tr.run+"\n\tupdate = checkout\n")
	if ignore == "none" {
		tr.Config(".gitmodules", "submodule.sub.ignore", "none")
	}
	dirtest.Git(tr.T, tr.dir, "add", ".gitmodules", "sub")
	dirtest.Git(tr.T, tr.dir, "commit", "-qm", "submodule", ".gitmodules", "sub")
	dirtest.Write(tr.T, filepath.Join(sub, "s.txt"), "changed\n")
	dirtest.Write(tr.T, filepath.Join(sub, ".git/info/attributes"), "* filter=x diff=x\n")
	for _, k := range []string{"filter.x.clean", "filter.x.process", "diff.x.command", "diff.x.textconv", "diff.external", "core.fsmonitor"} {
		dirtest.Config(tr.T, filepath.Join(sub, ".git/config"), k, tr.run)
	}
}

// partial takes away an object that git may fetch when it needs it.
func partial(tr *trap) {
	tr.Helper()
	hash := strings.TrimSpace(dirtest.Git(tr.T, tr.dir, "rev-parse", "HEAD:d0/f0.txt"))
	dirtest.Must(tr.T, os.Remove(filepath.Join(tr.dir, ".git/objects", hash[:2], hash[2:])))
	tr.Config(".git/config", "core.repositoryformatversion", "1", "extensions.partialClone", "origin", "remote.origin.promisor", "true")
}

// Conformance 40, 42 and 44: plain git runs the commands that a repository configures, ours does not.
func TestGitTricks(t *testing.T) {
	testenv.Long(t, "starts some thousand gits")
	for name, trick := range tricks {
		if !testenv.Chosen(t, 3, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			set := func() (*trap, *git.Repo) {
				_, dir := gitRepo(t)
				dirtest.Git(t, dir, "branch", "old")
				dirtest.Write(t, filepath.Join(dir, "d2/f2.txt"), "side\n")
				dirtest.Git(t, dir, "commit", "-qm", "side", "d2/f2.txt")
				dirtest.Git(t, dir, "branch", "side")
				dirtest.Git(t, dir, "reset", "-q", "--hard", "HEAD~1")
				dirtest.Write(t, filepath.Join(dir, "d2/f2.txt"), "ours\n")
				dirtest.Git(t, dir, "commit", "-qm", "ours", "d2/f2.txt")
				tr := &trap{T: t, dir: dir, at: dir, run: filepath.Join(t.TempDir(), "run.sh"), mark: filepath.Join(t.TempDir(), "ran")}
				dirtest.Write(t, tr.run, "#!/bin/sh\necho \"$0 $*\" >> "+tr.mark+"\n")
				dirtest.Must(t, os.Chmod(tr.run, 0o755))
				trick.set(tr)
				_ = os.Remove(tr.mark)
				if name != "merge driver" {
					dirtest.Write(t, filepath.Join(dir, "d0/f0.txt"), "changed\n")
				}
				r := process.New(tr.at, "", nil)
				t.Cleanup(func() { r.Close() })
				return tr, git.New(r)
			}
			if trick.plain != nil {
				if tr, _ := set(); !tr.plain(trick.plain...) {
					t.Fatalf("plain git %v runs nothing: this is no trick", trick.plain)
				}
			}
			tr, g := set()
			ctx, clean := t.Context(), func(what string) {
				t.Helper()
				if b, err := os.ReadFile(tr.mark); err == nil {
					t.Errorf("%s ran %s", what, b)
					_ = os.Remove(tr.mark)
				}
			}
			// Whether each works does not matter here: some repositories are broken.
			_, _ = g.Status(ctx)
			clean("Status")
			for _, o := range []git.DiffOptions{{}, {Staged: true}, {From: "HEAD"}, {Stat: true}} {
				_, _ = g.Diff(ctx, o)
				clean("Diff")
			}
			_, _ = g.Log(ctx, 5, "")
			_, _ = g.Log(ctx, 5, "d0/f0.txt")
			clean("Log")
			_, _, _ = g.Show(ctx, "HEAD", nil)
			_, _, _ = g.Show(ctx, "HEAD~1", []string{"d0/f0.txt"})
			clean("Show")
			_, _ = g.Blame(ctx, "d0/f0.txt", 1, 5)
			clean("Blame")
			_, _ = g.Branches(ctx)
			clean("Branches")
			if w, err := Add(ctx, tr.at, filepath.Join(t.TempDir(), "wt"), "adroit/J1", nil); err == nil {
				clean("AddWorktree")
				dirtest.Write(t, filepath.Join(w.Top, "d3/f3.txt"), "job\n")
				dirtest.Git(t, tr.dir, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false", "-c", "filter.x.process=", "-c", "filter.x.required=false", "commit", "-q", "--allow-empty", "--only", "-m", "theirs")
				_ = os.Remove(tr.mark)
				if m, err := w.Merge(ctx, "Work", "", nil, nil); name == "merge driver" && (err != nil || len(m.Paths) != 1) {
					t.Errorf("Merge: %+v, %v", m, err)
				}
				clean("Merge")
				_ = w.Remove(ctx, true)
				clean("Remove")
			}
			_, _ = g.Commit(ctx, "Everything", []string{"."})
			clean("Commit of everything")
			dirtest.Write(t, filepath.Join(tr.dir, "d0/f0.txt"), "again\n")
			_, _ = g.Commit(ctx, "One file", []string{"d0/f0.txt"})
			clean("Commit")
			_ = g.CreateBranch(ctx, "topic", "old")
			clean("CreateBranch")
			_ = g.Switch(ctx, "old")
			clean("Switch")
		})
	}
}

func TestShowAndBlame(t *testing.T) {
	g, dir := gitRepo(t)
	dirtest.Write(t, filepath.Join(dir, "d0/f0.txt"), "file 0\nnew\x1b[31m\n")
	dirtest.Write(t, filepath.Join(dir, ".env"), "KEY=secret\n")
	dirtest.Git(t, dir, "add", "-f", ".env")
	dirtest.Git(t, dir, "commit", "-qm", "second", "d0/f0.txt", ".env")
	c, d, err := g.Show(t.Context(), "HEAD", nil)
	switch {
	case err != nil:
		t.Errorf("unexpected error: %+v, %q, %v", c, d, err)
	case c.Subject != "second":
		t.Errorf(`c.Subject is %v, want "second": %+v, %q, %v`, c.Subject, c, d, err)
	case !strings.Contains(d, "-line\n"):
		t.Errorf(`d lacks "-line\n": %+v, %q, %v`, c, d, err)
	case strings.Contains(d, "KEY"):
		t.Errorf(`d contains "KEY": %+v, %q, %v`, c, d, err)
	}
	switch c, d, err = g.Show(t.Context(), "HEAD~1", []string{"run.sh"}); {
	case err != nil:
		t.Errorf("unexpected error: the first commit: %+v, %q, %v", c, d, err)
	case c.Subject != "start":
		t.Errorf(`c.Subject is %v, want "start": the first commit: %+v, %q, %v`, c.Subject, c, d, err)
	case !strings.Contains(d, "new file mode 100755"):
		t.Errorf(`d lacks "new file mode 100755": the first commit: %+v, %q, %v`, c, d, err)
	case strings.Contains(d, "f0"):
		t.Errorf(`d contains "f0": the first commit: %+v, %q, %v`, c, d, err)
	}
	lines, err := g.Blame(t.Context(), "d0/f0.txt", 1, 10)
	switch {
	case err != nil:
		t.Errorf("unexpected error: %+v, %v", lines, err)
	case len(lines) != 2:
		t.Errorf("len(lines) is %v, want 2: %+v, %v", len(lines), lines, err)
	case lines[0].Subject != "start":
		t.Errorf(`lines[0].Subject is %v, want "start": %+v, %v`, lines[0].Subject, lines, err)
	case lines[1].Subject != "second":
		t.Errorf(`lines[1].Subject is %v, want "second": %+v, %v`, lines[1].Subject, lines, err)
	case lines[1].Text != `new\x1b[31m`:
		t.Errorf("lines[1].Text is %v, want `new\\x1b[31m`: %+v, %v", lines[1].Text, lines, err)
	case lines[1].Line != 2:
		t.Errorf("lines[1].Line is %v, want 2: %+v, %v", lines[1].Line, lines, err)
	case lines[1].Author != "A":
		t.Errorf(`lines[1].Author is %v, want "A": %+v, %v`, lines[1].Author, lines, err)
	}
	for _, v := range []string{"--output=x", "-O", "--exec=x", "-c", "", "HEAD:.env", "a\nb"} {
		if _, _, err := g.Show(t.Context(), v, nil); err == nil {
			t.Errorf("Show of %q", v)
		}
		if v != "HEAD:.env" {
			if _, _, err := g.Show(t.Context(), "HEAD", []string{v}); err == nil {
				t.Errorf("Show of path %q", v)
			}
		}
	}
	for _, v := range []string{"--contents=/etc/passwd", ".env", "../x", "/etc/passwd", ""} {
		if _, err := g.Blame(t.Context(), v, 1, 1); err == nil {
			t.Errorf("Blame of %q", v)
		}
	}
}
