package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// repositoryKinds make a repository below a home and return the workspace in it.
var repositoryKinds = []struct {
	name  string
	make  func(t *testing.T, home string) (dir string)
	level string // of the sandbox; empty: full
}{
	{"ordinary clone", func(t *testing.T, home string) string { return newRepo(t, home, "r") }, ""},
	{"subdirectory", func(t *testing.T, home string) string {
		r := newRepo(t, home, "r")
		put(t, filepath.Join(r, "pkg/f.txt"), "one\nneedle\n")
		dirtest.Git(t, r, "add", ".")
		dirtest.Git(t, r, "commit", "-qm", "pkg")
		return filepath.Join(r, "pkg")
	}, ""},
	{"linked work tree", func(t *testing.T, home string) string {
		dirtest.Git(t, newRepo(t, home, "r"), "worktree", "add", "-q", "../w")
		return filepath.Join(home, "w")
	}, ""},
	{"submodule", func(t *testing.T, home string) string { return filepath.Join(withSubmodule(t, home), "sub") }, ""},
	{"superproject", withSubmodule, ""},
	{"superproject, sandbox landlock", withSubmodule, "landlock"},
	{"superproject, sandbox off", withSubmodule, "off"},
	{"a clone beside the code", func(t *testing.T, home string) string {
		newRepo(t, home, "r/clone")
		return newRepo(t, home, "r")
	}, ""},
	{"another work tree of the repository inside", func(t *testing.T, home string) string {
		dir := newRepo(t, home, "r")
		dirtest.Git(t, dir, "worktree", "add", "-q", "clone")
		return dir
	}, ""},
	{"SHA-256, with a split index", func(t *testing.T, home string) string {
		dirtest.Git(t, home, "init", "-q", "-b", "main", "--object-format=sha256", "r")
		dir := newRepo(t, home, "r")
		dirtest.Git(t, dir, "config", "core.splitIndex", "true")
		dirtest.Git(t, dir, "update-index", "--split-index")
		return dir
	}, ""},
	{"separate git directory with core.worktree", func(t *testing.T, home string) string {
		dirtest.Git(t, home, "init", "-q", "--separate-git-dir", filepath.Join(home, "own.git"), "r")
		dir := newRepo(t, home, "r")
		dirtest.Git(t, dir, "config", "core.worktree", dir)
		return dir
	}, ""},
	{"work tree of a bare parent", func(t *testing.T, home string) string {
		newRepo(t, home, "s")
		dirtest.Git(t, home, "clone", "-q", "--bare", "s", "p/.bare")
		put(t, filepath.Join(home, "p/.git"), "gitdir: ./.bare\n")
		dirtest.Git(t, filepath.Join(home, "p"), "worktree", "add", "-q", "main")
		return filepath.Join(home, "p/main")
	}, ""},
	{"sparse checkout", func(t *testing.T, home string) string {
		dir := newRepo(t, home, "r")
		put(t, filepath.Join(dir, "out/of/it.txt"), "it\n")
		dirtest.Git(t, dir, "add", ".")
		dirtest.Git(t, dir, "commit", "-qm", "out")
		dirtest.Git(t, dir, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
		return dir
	}, ""},
	{"sparse checkout without its submodule", func(t *testing.T, home string) string {
		dir := withSubmodule(t, home)
		dirtest.Git(t, dir, "sparse-checkout", "set", "--no-cone", "/*", "!/sub")
		return dir
	}, ""},
	{"submodule with blanks and brackets", func(t *testing.T, home string) string {
		newRepo(t, home, "lib")
		dir := newRepo(t, home, "r")
		dirtest.Git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "my sub [x] {a,b}")
		dirtest.Git(t, dir, "commit", "-qm", "sub")
		return dir
	}, ""},
	{"directory with a line end in its name", func(t *testing.T, home string) string { return newRepo(t, home, "a\nb ..c") }, ""},
	{"git directory behind a link, with core.worktree", func(t *testing.T, home string) string {
		dir := newRepo(t, home, "r")
		dirtest.Must(t, os.Rename(filepath.Join(dir, ".git"), filepath.Join(home, "elsewhere")))
		dirtest.Must(t, os.Symlink("../elsewhere", filepath.Join(dir, ".git")))
		dirtest.Git(t, dir, "config", "core.worktree", dir)
		return dir
	}, ""},
	{"several repositories, none at the top", func(t *testing.T, home string) string {
		newRepo(t, home, "r/a")
		newRepo(t, home, "r/b")
		put(t, filepath.Join(home, "r/f.txt"), "one\nneedle\n")
		return filepath.Join(home, "r")
	}, ""},
	{"none", func(t *testing.T, home string) string {
		put(t, filepath.Join(home, "r/f.txt"), "one\nneedle\n")
		return filepath.Join(home, "r")
	}, ""},
}

func newRepo(t *testing.T, home, name string) string {
	dir := filepath.Join(home, name)
	put(t, filepath.Join(dir, "f.txt"), "one\nneedle\n")
	dirtest.Git(t, dir, "init", "-q", "-b", "main")
	dirtest.Git(t, dir, "add", "f.txt")
	dirtest.Git(t, dir, "commit", "-qm", "first")
	return dir
}

func withSubmodule(t *testing.T, home string) string {
	newRepo(t, home, "lib")
	dir := newRepo(t, home, "r")
	dirtest.Git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "sub")
	dirtest.Git(t, dir, "commit", "-qm", "sub")
	return dir
}

var repositoryOperations = []string{"read", "write", "command", "search", "status", "commit", "diff", "undo", "sub-agent", "worktree", "merge", "rm"}

const inRepository = `turns:
  - calls: [{name: read_file, args: {path: f.txt}}, {name: search, args: {pattern: needle}}, {name: write_file, args: {path: new.txt, content: "new\n"}}]
  - calls: [{name: shell, args: {command: "for d in . sub clone a my*; do test -d \"$d\" && echo by a command >> \"$d/f.txt\"; done; echo cmd > cmd.txt"}}]
  - calls: [{name: git_status, args: {}}, {name: shell, args: {command: "git add cmd.txt && git commit -qm 'by a command' && git log -1 --format='it is %s'"}}]
  - text: done
`

// TestRepositories does everything in every kind of repository, half of them in each run, and compares
// the results with docs/dev/repositories.md.
func TestRepositories(t *testing.T) {
	t.Parallel()
	golden := filepath.Join("..", "..", "docs", "dev", "repositories.md")
	kept, err := os.ReadFile(golden)
	dirtest.Must(t, err)
	rows := make([]string, len(repositoryKinds))
	t.Run("kinds", func(t *testing.T) {
		for i, k := range repositoryKinds {
			rows[i] = regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(k.name) + ` \|.*\n`).FindString(string(kept))
			if !*update && !testenv.Chosen(t, 4, k.name) {
				continue
			}
			t.Run(k.name, func(t *testing.T) {
				t.Parallel()
				rows[i] = "| " + k.name + " | " + strings.Join(inKind(t, k.make, k.level), " | ") + " |\n"
			})
		}
	})
	page := "# Repositories\n\n<!-- Generated by go test ./cmd/adroit -run TestRepositories -update. -->\n\n" +
		"What works in which kind of repository, as a test finds with the program and git. A command also changes a file in the repository inside, if there is one, and so does a sub-agent in a copy of the work tree.\n" +
		"At sandbox levels below full a change of a command is uncertain: there, \"diff\" and \"undo\" are with --include-uncertain. So is, at each level, the branch that a command of the user's own work tree moved.\n" +
		"\"refused\" is an error before any work is done, with what to do instead; \"no git\" is git's own word that there is no repository, which the tools repeat.\n\n" +
		"| workspace | " + strings.Join(repositoryOperations, " | ") + " |\n|---|" + strings.Repeat("---|", len(repositoryOperations)) + "\n" + strings.Join(rows, "")
	dirtest.Golden(t, *update, golden, []byte(page))
}

// inKind returns the result of each operation.
func inKind(t *testing.T, build func(t *testing.T, home string) string, level string) (cells []string) {
	p := newPlace(t, map[string]string{"turns.yaml": inRepository, "tree.yaml": "turns:\n  - calls: [{name: write_file, args: {path: tree.txt, content: \"x\\n\"}}]\n  - text: done\n",
		"copy.yaml": "turns:\n  - calls: [{name: shell, args: {command: \"for d in . sub clone a my*; do test -d \\\"$d\\\" && echo by a sub-agent >> \\\"$d/f.txt\\\"; done; true\"}}]\n  - text: done\n",
		"home/.config/adroit/pipelines/copy.yaml": "name: copy\ndescription: Works in a copy.\nsteps:\n  - {id: work, input: go, agent: {prompt: You write., tools: [shell, write_file]}, worktree: true}\n",
		"home/.gitconfig":                         "[user]\n\tname = A\n\temail = a@example.org\n"})
	p.env = append(p.env, "GIT_CONFIG_NOSYSTEM=1", "ADROIT_SANDBOX="+level)
	dir := build(t, p.path("home"))
	run := func(args ...string) (int, string) {
		cmd, out := p.command(args...)
		cmd.Dir = dir
		return ended(t, cmd.Run()), out.String()
	}
	text := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(dir, name))
		return string(b)
	}
	say := func(ok bool, other string) {
		if !ok {
			t.Logf("%s: %s", repositoryOperations[len(cells)], other)
		} else {
			other = "yes"
		}
		cells = append(cells, other)
	}
	shown := func(out, want string) bool { return regexp.MustCompile(want).MatchString(out) }
	code, out := run("run", "chat", "go", "-m", "script:"+p.path("turns.yaml"), "--mode", "auto", "--approve", "all")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	t.Log(out)
	if want := cmp.Or(level, "full"); !strings.Contains(out, "sandbox "+want) && os.Getenv("CI") == "" {
		t.Skip("the table is that of the sandbox level " + want)
	}
	noGit := func(pattern string) string {
		if shown(out, pattern) {
			return "no git"
		}
		return "no"
	}
	say(shown(out, `read_file +f.txt 1-2`), "no")
	say(text("new.txt") == "new\n", "no")
	say(text("cmd.txt") == "cmd\n", "no")
	say(shown(out, fmt.Sprintf(`search +%d match`, len(changedFiles(t, dir)))), "no")
	say(shown(out, `git_status +\d+ changed`), noGit(`git_status +the workspace is not a git repository`))
	say(shown(out, `it is by a command`), noGit(`fatal: not a git repository`))
	uncertain := func(args ...string) (int, string) {
		if level != "" {
			args = append(args, "--include-uncertain")
		}
		return run(args...)
	}
	code, diff := uncertain("jobs", "diff", "last")
	wrote := strings.Count(strings.Join(changedFiles(t, dir), ""), "by a command\n")
	whole := code == 0 && strings.Count(diff, "+by a command\n") == wrote
	apply := exec.Command("git", "apply", "--check", "-R")
	apply.Dir, apply.Stdin = dir, strings.NewReader(diff)
	applied, err := apply.CombinedOutput()
	say(whole && err == nil && strings.Contains(diff, "new.txt") && strings.Contains(diff, "cmd.txt"), fmt.Sprintf("no: %d %s %s", code, diff, applied))
	code, out = uncertain("jobs", "undo", "last")
	if code == 1 && strings.Contains(out, "left alone refs/heads/") && !strings.Contains(out, ".txt: ") { // of the command's commit
		code, out = run("jobs", "undo", "last", "--include-uncertain")
	}
	say(code == 0 && text("new.txt")+text("cmd.txt") == "" && !strings.Contains(strings.Join(changedFiles(t, dir), ""), "by a command\n"), "no: "+out)
	code, out = run("run", "pipeline:copy", "go", "-m", "script:"+p.path("copy.yaml"), "--mode", "auto", "--approve", "all")
	say(code == 0 && strings.Count(strings.Join(changedFiles(t, dir), ""), "by a sub-agent\n") == wrote, "no: "+out)
	_, _ = run("jobs", "undo", "last")
	if code, out = run("run", "chat", "go", "-m", "script:"+p.path("tree.yaml"), "--mode", "auto", "--approve", "all", "--worktree"); code == 1 && strings.Contains(out, "is in no git repository") {
		return append(cells, "refused", "", "")
	}
	say(code == 0 && text("tree.txt") == "", "no: "+out)
	code, out = run("jobs", "merge", "last")
	say(code == 0 && text("tree.txt") == "x\n", "no: "+out)
	code, out = run("jobs", "rm", "last")
	left, _ := filepath.Glob(p.path("data/worktrees/*"))
	say(code == 0 && len(left) == 0, "no: "+out)
	return cells
}

// changedFiles are the contents of f.txt in a directory and those below.
func changedFiles(t *testing.T, dir string) (texts []string) {
	for _, name := range []string{"f.txt", "*/f.txt"} {
		found, err := filepath.Glob(filepath.Join(dir, name))
		dirtest.Must(t, err)
		for _, f := range found {
			texts = append(texts, dirtest.Content(t, f))
		}
	}
	return texts
}
