package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// treeOf lists everything below a directory, without following links.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&out, "%s %s", info.Mode(), rel)
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, " %q", b)
		}
		out.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// victim returns a directory of the user's outside of any workspace.
func victim(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dirtest.Write(t, filepath.Join(dir, "docs/thesis"), "thesis\n")
	dirtest.Write(t, filepath.Join(dir, "attributes"), "* text\n")
	dirtest.Write(t, filepath.Join(dir, "config"), "[core]\n\tfsmonitor = mine\n")
	dirtest.Write(t, filepath.Join(dir, "commondir"), "../mine\n")
	dirtest.Write(t, filepath.Join(dir, ".git/HEAD"), "ref: refs/heads/main\n")
	dirtest.Write(t, filepath.Join(dir, ".git/config"), "[core]\n\tfsmonitor = mine\n")
	dirtest.Write(t, filepath.Join(dir, ".claude/settings.json"), "{}\n")
	return dir
}

// Report 1 and 16. What a command plants as a link in the place of something that
// is looked at afterwards is removed as a link. What it leads to stays, and the
// workspace can be used.
func TestPlantedLinks(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		for _, link := range []string{
			"sub/.git/hooks", "sub/.git/info", "sub/.git/modules", "sub/.git/worktrees", "sub/.git/config", "sub/.git/config.worktree", "sub/.git/commondir",
			"sub/.git/modules/x", "sub/.git/worktrees/x", ".git/modules", ".git/modules/a/hooks", ".git/modules/a/info", ".git/worktrees", ".git/worktrees/w/modules",
			"sub2/.git", ".claude", "d/.vscode", "d/.github/workflows", "sub/.git/info/attributes",
		} {
			t.Run(link, func(t *testing.T) {
				r, dir := cellmate(t, SandboxOptions{Level: level})
				dirtest.Git(t, dir, "init", "-q")
				outside := victim(t)
				want := treeOf(t, outside)
				setup := "mkdir -p sub/.git/objects sub/.git/refs; echo x >sub/.git/HEAD; mkdir -p .git/modules/a/objects; echo x >.git/modules/a/HEAD; "
				if strings.HasPrefix(link, ".git/modules") && strings.Count(link, "/") == 1 {
					setup = ""
				}
				o := did(t, r, setup+"mkdir -p "+filepath.Dir(link)+"; ln -s "+outside+" "+link+" && echo planted", 0, "planted")
				if got := treeOf(t, outside); got != want {
					t.Errorf("outside is now\n%s\nand was\n%s", got, want)
				}
				if to, err := os.Readlink(filepath.Join(dir, link)); err == nil {
					t.Errorf("the link to %s is still there; note: %s", to, o.Note)
				}
				if !strings.Contains(o.Note, filepath.Join(dir, link)+" was made by the command and taken away to ") {
					t.Errorf("note: %q", o.Note)
				}
				did(t, r, "echo works", 0, "works")
				if got := treeOf(t, outside); got != want {
					t.Errorf("after another command outside is\n%s\nand was\n%s", got, want)
				}
			})
		}
	})
}

// A link that is there before the command, from a run without a sandbox or from
// the user, is not followed either, and no later command fails because of it.
func TestLinksThatWereThere(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		for _, link := range []string{"hooks", "info", "modules", "worktrees", "config", "info/attributes", "config.worktree"} {
			t.Run(link, func(t *testing.T) {
				r, dir := cellmate(t, SandboxOptions{Level: level})
				dirtest.Git(t, dir, "init", "-q", "sub")
				outside := victim(t)
				want := treeOf(t, outside)
				at := filepath.Join(dir, "sub/.git", link)
				if err := os.RemoveAll(at); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(outside, at); err != nil {
					t.Fatal(err)
				}
				did(t, r, "echo one", 0, "one")
				o := did(t, r, "rm sub/.git/"+link+"; ln -s . sub/.git/"+link+"; echo two", 0, "two")
				if to, err := os.Readlink(at); err != nil || to != outside {
					t.Errorf("the user's link leads to %q, %v; note: %s", to, err, o.Note)
				}
				if got := treeOf(t, outside); got != want {
					t.Errorf("outside is now\n%s\nand was\n%s", got, want)
				}
			})
		}
	})
}

// Report 3. What was changed is put back into the directory it was in, and into
// nothing that took its place.
func TestReplacedParent(t *testing.T) {
	levels(t, func(t *testing.T, level sandbox.Level) {
		for _, file := range []string{".claude/settings.json", ".vscode/tasks.json", ".mcp.json", ".git/config"} {
			t.Run(file, func(t *testing.T) {
				r, dir := cellmate(t, SandboxOptions{Level: level})
				outside := victim(t)
				dirtest.Write(t, filepath.Join(outside, file), "the user's own\n")
				want := treeOf(t, outside)
				if file == ".git/config" {
					dirtest.Git(t, dir, "init", "-q", "a")
				} else {
					dirtest.Write(t, filepath.Join(dir, "a", file), "the repository's\n")
				}
				before, err := os.ReadFile(filepath.Join(dir, "a", file))
				if err != nil {
					t.Fatal(err)
				}
				did(t, r, "echo evil >a/"+file+"; mv a b; ln -s "+outside+" a; echo evil >b/"+file+"; echo done", 0, "done")
				if got := treeOf(t, outside); got != want {
					t.Errorf("outside is now\n%s\nand was\n%s", got, want)
				}
				after, err := os.ReadFile(filepath.Join(dir, "b", file))
				if err == nil && string(after) != string(before) {
					t.Errorf("%s is %q and was %q", file, after, before)
				}
				did(t, r, "echo works", 0, "works")
			})
		}
	})
}

// Report 5. A repository that is moved, copied, cloned or made keeps its content.
func TestMovedRepositories(t *testing.T) {
	t.Parallel()
	const user = "git -c user.name=a -c user.email=a@b -c protocol.file.allow=always "
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		setup := func(t *testing.T) (*Runner, string) {
			r, dir := cellmate(t, SandboxOptions{Level: level})
			dirtest.Git(t, dir, "init", "-q")
			dirtest.Git(t, dir, "init", "-q", "libs/foo")
			dirtest.Write(t, filepath.Join(dir, "libs/foo/f"), "x\n")
			foo := filepath.Join(dir, "libs/foo")
			dirtest.Git(t, foo, "add", "f")
			dirtest.Git(t, foo, "commit", "-q", "-m", "one")
			dirtest.Git(t, foo, "remote", "add", "origin", "https://example.org/foo")
			dirtest.Git(t, foo, "config", "filter.lfs.clean", "git-lfs clean")
			dirtest.Write(t, filepath.Join(foo, ".git/hooks/pre-commit"), "#!/bin/sh\nexit 0\n")
			dirtest.Write(t, filepath.Join(foo, ".git/info/attributes"), "*.bin filter=lfs\n")
			dirtest.Write(t, filepath.Join(dir, "g"), "g\n")
			dirtest.Git(t, dir, "add", "g")
			dirtest.Git(t, dir, "commit", "-q", "-m", "one")
			did(t, r, "true", 0, "") // makes what a repository lacks
			return r, dir
		}
		protected := []string{"config", "hooks/pre-commit", "info/attributes"}
		kept := func(t *testing.T, was map[string]string, repo string) {
			t.Helper()
			for name, want := range was {
				if b, err := os.ReadFile(filepath.Join(repo, ".git", name)); err != nil || string(b) != want {
					t.Errorf("%s of %s is %q, %v; it was %q", name, repo, b, err, want)
				}
			}
			dirtest.Git(t, repo, "status")
		}
		for name, c := range map[string]struct{ script, repo string }{
			"mv":            {"mv libs lib", "lib/foo"},
			"mv twice":      {"mv libs lib; mkdir deep; mv lib/foo deep/bar; mv deep deeper", "deeper/bar"},
			"mv and remake": {"mv libs lib; git init -q libs/foo", "lib/foo"},
			"cp -r":         {"cp -r libs lib", "lib/foo"},
		} {
			t.Run(name, func(t *testing.T) {
				r, dir := setup(t)
				was := map[string]string{}
				for _, p := range protected {
					b, err := os.ReadFile(filepath.Join(dir, "libs/foo/.git", p))
					if err != nil {
						t.Fatal(err)
					}
					was[p] = string(b)
				}
				if o := did(t, r, c.script, 0, ""); o.Note != "" {
					t.Errorf("note: %s", o.Note)
				}
				kept(t, was, filepath.Join(dir, c.repo))
				did(t, r, "echo works", 0, "works")
			})
		}
		t.Run("moved and changed", func(t *testing.T) {
			r, dir := setup(t)
			o := did(t, r, "mv libs lib; echo evil >>lib/foo/.git/config; echo evil >>lib/foo/.git/hooks/pre-commit; echo evil >lib/foo/.git/hooks/post-checkout; echo done", 0, "done")
			for _, name := range []string{"config", "hooks/pre-commit", "hooks/post-checkout"} {
				if b, _ := os.ReadFile(filepath.Join(dir, "lib/foo/.git", name)); strings.Contains(string(b), "evil") {
					t.Errorf("%s of the moved repository was changed; note: %s", name, o.Note)
				}
			}
		})
		t.Run("worktree", func(t *testing.T) {
			r, dir := setup(t)
			o := did(t, r, user+"worktree add -q wt && cd wt && git status && "+user+"commit -q --allow-empty -m two", 0, "On branch wt")
			if o.Note != "" {
				t.Errorf("note: %s", o.Note)
			}
			dirtest.Git(t, filepath.Join(dir, "wt"), "status")
			if o := did(t, r, "cd wt && git log --oneline | wc -l; cd ..; git worktree move wt wt2 && cd wt2 && git status", 0, "2\n"); o.Note != "" {
				t.Errorf("moving it: %s", o.Note)
			}
			dirtest.Git(t, filepath.Join(dir, "wt2"), "status")
			if o := did(t, r, "git worktree remove wt2 && git worktree prune && git worktree list", 0, ""); o.Note != "" {
				t.Errorf("removing it: %s", o.Note)
			}
		})
		t.Run("worktree with evil settings", func(t *testing.T) {
			r, dir := setup(t)
			ran := filepath.Join(t.TempDir(), "ran")
			did(t, r, user+"worktree add -q wt && "+user+"worktree add -q wt2", 0, "")
			for name, script := range map[string]string{
				"commondir": "cp -r libs/foo/.git evil; rm -f evil/config; printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = \"touch " + ran + ";false\"\\n' >evil/config; echo ../../../evil >.git/worktrees/wt/commondir",
				"no common": "cd .git/worktrees/wt2; rm -f commondir; mkdir -p objects refs; printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = \"touch " + ran + ";false\"\\n' >config",
				"gitdir":    "git init -q other; cd other/.git; printf '\\tfsmonitor = \"touch " + ran + ";false\"\\n' >>config; cd ../..; echo gitdir: ../other/.git >wt/.git",
			} {
				o := did(t, r, script+"; echo done", 0, "done")
				for _, wt := range []string{"wt", "wt2"} {
					_ = gitFails(filepath.Join(dir, wt), "status")
				}
				if os.Remove(ran) == nil {
					t.Errorf("%s: git status ran what the command had left; note: %s", name, o.Note)
				}
			}
		})
		t.Run("clone", func(t *testing.T) {
			r, dir := setup(t)
			if o := did(t, r, user+"clone -q ./libs/foo b && cd b && git remote -v && git pull -q", 0, "libs/foo"); o.Note != "" {
				t.Errorf("note: %s", o.Note)
			}
			dirtest.Git(t, filepath.Join(dir, "b"), "fetch", "-q")
			did(t, r, "cd b && git fetch && git status", 0, "")
		})
		t.Run("bare", func(t *testing.T) {
			r, dir := setup(t)
			if o := did(t, r, user+"clone -q --bare ./libs/foo b.git && "+user+"clone -q b.git c && cd c && git pull -q", 0, ""); o.Note != "" {
				t.Errorf("note: %s", o.Note)
			}
			ran := filepath.Join(t.TempDir(), "ran")
			o := did(t, r, "cp -r b.git e.git && printf '[core]\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = \"touch "+ran+";false\"\\n' >e.git/config; printf '[core]\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = \"touch "+ran+";false\"\\n' >b.git/config; echo done", 0, "done")
			for _, repo := range []string{"e.git", "b.git"} {
				_ = gitFails(filepath.Join(dir, repo), "status")
				if os.Remove(ran) == nil {
					t.Errorf("git status in %s ran what the command had left; note: %s", repo, o.Note)
				}
			}
		})
		t.Run("submodule", func(t *testing.T) {
			r, dir := setup(t)
			dirtest.Git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./libs/foo", "vendor/lib")
			dirtest.Git(t, dir, "commit", "-q", "-m", "two")
			if o := did(t, r, "git mv vendor/lib third_party && cd third_party && git status", 0, ""); o.Note != "" {
				t.Errorf("note: %s", o.Note)
			}
			dirtest.Git(t, filepath.Join(dir, "third_party"), "status")
			dirtest.Git(t, dir, "submodule", "status")
			did(t, r, "git -C third_party log -1 --oneline", 0, "one")
			// And with a module whose name has a slash, moved as a directory.
			did(t, r, "mv third_party tp && cd tp && git status; true", 0, "")
		})
	})
}

// Report 17. A command leaves no file that configures programs in any directory, just as no file
// tool writes it there without asking; content of such files that a command removes is never lost
// silently.
func TestConfigurationAnywhere(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		r, dir := cellmate(t, SandboxOptions{Level: level})
		names := []string{
			".vscode/tasks.json", ".claude/settings.json", ".mcp.json", ".idea/x", "a/b/.vscode/tasks.json", "a/.claude/settings.json", "a/.mcp.json",
			".github/workflows/ci.yml", "a/.github/workflows/ci.yml", ".gitlab-ci.yml", "Jenkinsfile", "a/.npmrc", ".yarnrc.yml", "a/.envrc", ".bashrc", "a/.pre-commit-config.yaml",
		}
		var script strings.Builder
		for _, n := range names {
			fmt.Fprintf(&script, "mkdir -p %s && echo evil >%s; ", filepath.Dir(n), n)
		}
		o := did(t, r, script.String()+"mkdir -p .github a/.github; echo x >.github/CODEOWNERS; echo x >.env.local; echo x >workflows; echo done", 0, "done")
		for _, n := range names {
			if rootfs.Exists(filepath.Join(dir, n)) {
				t.Errorf("%s is there; note: %s", n, o.Note)
			}
		}
		for _, n := range []string{".github/CODEOWNERS", ".env.local", "workflows"} {
			if !rootfs.Exists(filepath.Join(dir, n)) {
				t.Errorf("%s is not there; note: %s", n, o.Note)
			}
		}
		if !strings.Contains(o.Note, "write it with a file tool, which asks for approval") {
			t.Errorf("note: %s", o.Note)
		}
		// Files that a note reports as kept exist.
		kept := 0
		for _, note := range strings.Split(o.Note, "; ") {
			if _, rest, ok := strings.Cut(note, " taken away to "); ok {
				at, _, _ := strings.Cut(rest, ", since")
				if _, err := os.Lstat(at); err != nil {
					t.Error(err)
				}
				kept++
			}
		}
		if kept < 10 {
			t.Errorf("only %d are named: %s", kept, o.Note)
		}
		// What is there can be read and not changed.
		for _, n := range names[:9] {
			dirtest.Write(t, filepath.Join(dir, n), "mine\n")
		}
		for _, n := range names[:9] {
			did(t, r, "cat "+n+"; echo evil >"+n+"; rm -rf "+n+"; echo evil >"+n+"; true", 0, "mine")
			if b, err := os.ReadFile(filepath.Join(dir, n)); err != nil || string(b) != "mine\n" {
				t.Errorf("%s is %q, %v", n, b, err)
			}
		}
	})
}

// What a command takes the right to enter or to write from is taken away as well.
func TestRemovedFromReadOnly(t *testing.T) {
	levels(t, func(t *testing.T, level sandbox.Level) {
		r, dir := cellmate(t, SandboxOptions{Level: level})
		did(t, r, "mkdir -p a/.claude && echo x >a/.claude/f && chmod 555 a a/.claude", 0, "")
		if rootfs.Exists(filepath.Join(dir, "a/.claude")) {
			t.Error("it is there")
		}
		info, err := os.Stat(filepath.Join(dir, "a"))
		if err != nil || info.Mode().Perm() != 0o555 {
			t.Errorf("the directory has the mode %v, %v", info.Mode(), err)
		}
	})
}

// The home of commands is theirs: a link in it leads us nowhere.
func TestIdentityFollowsNoLink(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	dirtest.Write(t, filepath.Join(home, ".gitconfig"), "[filter \"x\"]\n\tclean = a \\\n\t  b\n[user]\n\tname = a\n\temail = a@b\n")
	file := filepath.Join(t.TempDir(), "file")
	dirtest.Write(t, file, "mine\n")
	levels(t, func(t *testing.T, level sandbox.Level) {
		private := filepath.Join(t.TempDir(), "private")
		for range 2 { // as when a job is resumed
			r, _ := cellmate(t, SandboxOptions{Level: level, Private: private})
			did(t, r, "git config user.name && rm -f $HOME/.gitconfig && ln -s "+file+" $HOME/.gitconfig && echo planted", 0, "planted")
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != "mine\n" {
			t.Errorf("the file is %q, %v", b, err)
		}
	})
}

// Discarding a command's files changes no modes outside.
func TestDiscardFollowsNoLink(t *testing.T) {
	outside := t.TempDir()
	if err := os.Chmod(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "d")
	dirtest.Write(t, filepath.Join(dir, "closed/f"), "")
	if err := errors.Join(os.Symlink(outside, filepath.Join(dir, "link")), os.Chmod(filepath.Join(dir, "closed"), 0o555)); err != nil {
		t.Fatal(err)
	}
	if err := rootfs.RemoveAll(dir); err != nil || rootfs.Exists(dir) {
		t.Errorf("the directory is not gone: %v", err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// What has no place of its own to be kept at stays when the runner is closed.
func TestRemovedStays(t *testing.T) {
	levels(t, func(t *testing.T, level sandbox.Level) {
		dir := t.TempDir()
		t.Setenv("TMPDIR", t.TempDir())
		r := New(dir, "", nil, WithSandbox(SandboxOptions{Level: level}))
		o := did(t, r, "mkdir .claude; echo x >.claude/f", 0, "")
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(o.Note, " taken away to ")
		at, _, _ := strings.Cut(rest, ", since")
		if b, err := os.ReadFile(filepath.Join(at, "f")); err != nil || string(b) != "x\n" {
			t.Errorf("%q, %v; note: %s", b, err, o.Note)
		}
	})
}
