package gittool_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/parts/internal/gittool"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func TestConforms(t *testing.T) {
	toolstest.Check(t, gittool.Status, gittool.Diff, gittool.Log, gittool.Commit, gittool.Branch)
}

type repo struct {
	*testing.T
	dir string
	env *tools.Env
}

// open makes a repository with one commit of a.txt.
func open(t *testing.T) *repo {
	t.Helper()
	testenv.NeedsProgram(t, "git")
	t.Setenv("HOME", t.TempDir()) // nobody's own settings
	r := &repo{T: t, dir: t.TempDir()}
	r.git("init", "-q", "-b", "main")
	r.git("config", "user.name", "A")
	r.git("config", "user.email", "a@example.com")
	r.write("a.txt", "one\ntwo\n")
	r.git("add", ".")
	r.git("commit", "-q", "-m", "Start")
	files, err := workspace.Open(r.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	ex := process.New(r.dir, t.TempDir(), nil)
	t.Cleanup(func() { ex.Close(); files.Close() })
	r.env = &tools.Env{Files: files, Exec: ex}
	return r
}

func (r *repo) git(args ...string) string {
	r.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	// In a hook of git, GIT_DIR and others point to another repository.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") })
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repo) write(name, text string) {
	r.Helper()
	name = filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
}

func (r *repo) call(tool tools.Tool, args string) tools.Result {
	r.Helper()
	res, err := tool.Run(context.Background(), r.env, json.RawMessage(args))
	if err != nil {
		r.Fatal(err)
	}
	return res
}

func (r *repo) says(res tools.Result, failed bool, words ...string) {
	r.Helper()
	if res.Failed != failed {
		r.Errorf("Failed is %v: %s", res.Failed, res.Text)
	}
	for _, w := range words {
		if !strings.Contains(res.Text, w) {
			r.Errorf("%q does not say %q", res.Text, w)
		}
	}
}

func TestShow(t *testing.T) {
	r := open(t)
	r.says(r.call(gittool.Status, `{}`), false, "branch main", "Nothing differs")
	r.says(r.call(gittool.Diff, `{}`), false, "Nothing differs")
	r.write("a.txt", "one\n2\n")
	r.write("new.txt", "x\n")
	r.says(r.call(gittool.Status, `{}`), false, "modified: a.txt", "untracked: new.txt")
	d := r.call(gittool.Diff, `{"paths":["a.txt"]}`)
	r.says(d, false, "--- a/a.txt", "-two", "+2")
	if d.Summary != "1 file +1 -1" {
		t.Errorf("summary %q", d.Summary)
	}
	var whole string
	if err := json.Unmarshal(d.Artifacts["git_diff"], &whole); err != nil || whole != d.Text {
		t.Errorf("artifact %q, %v", whole, err)
	}
	r.says(r.call(gittool.Diff, `{"staged":true}`), false, "No tracked file differs")
	r.says(r.call(gittool.Diff, `{}`), false, "-two", "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+x\n")
	r.write(".gitignore", "*.log\n")
	r.write("x.log", "1\n")
	r.write("sub/half.txt", "1\n2")
	r.write(".env", "KEY=1\n")
	half := r.call(gittool.Diff, `{"paths":["sub"]}`)
	r.says(half, false, "+2\n\\ No newline at end of file\n")
	if all := r.call(gittool.Diff, `{}`).Text; strings.Contains(half.Text, "new.txt") || strings.Contains(all, "x.log") || strings.Contains(all, "KEY=1") {
		t.Errorf("the diff has too much: %s", all)
	}
	r.says(r.call(gittool.Log, `{}`), false, "A: Start")
	r.says(r.call(gittool.Log, `{"path":"new.txt"}`), false, "No commit touches")
}

func TestCommit(t *testing.T) {
	r := open(t)
	r.says(r.call(gittool.Commit, `{"message":"Nothing"}`), true, "nothing differs")
	r.write("a.txt", "one\n2\n")
	r.write("b.txt", "mine\n")
	r.says(r.call(gittool.Commit, `{"message":"Guess"}`), true, "nothing is staged", "a.txt", "b.txt")
	r.says(r.call(gittool.Commit, `{"message":"Other","paths":["nope.txt"]}`), true, "nope.txt has no changes")
	r.says(r.call(gittool.Commit, `{"message":" ","paths":["a.txt"]}`), true, "message")
	// A message is text, whatever it looks like.
	r.says(r.call(gittool.Commit, `{"message":"--amend $(touch pwned)\n\nWhy: `+"`id`"+`","paths":["a.txt"]}`), false, "--amend $(touch pwned)")
	if got := r.git("log", "--format=%s", "--name-only", "-1"); got != "--amend $(touch pwned)\n\na.txt" {
		t.Errorf("committed %q", got)
	}
	if got := r.git("status", "--porcelain"); got != "?? b.txt" {
		t.Errorf("left behind %q", got)
	}
	r.git("add", "b.txt")
	r.says(r.call(gittool.Commit, `{"message":"Add b"}`), false, "Add b")
}

// Conformance 47: a secret is not committed, whether its name or its content
// gives it away, and the refusal does not repeat it.
func TestSecret(t *testing.T) {
	key := "ghp_" + strings.Repeat("a1B2", 9)
	for name, c := range map[string]struct{ file, text, args, says string }{
		"new file":     {"cfg.txt", "x\ntoken = " + key + "\n", `{"message":"m","paths":["."]}`, "cfg.txt:2 has a github token (finding "},
		"tracked file": {"a.txt", "one\ntwo\n" + key + "\n", `{"message":"m","paths":["a.txt"]}`, "a.txt:3 has"},
		"private key":  {"d/k.txt", "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEowIBAAKCAQEAx1aBq83hf\n", `{"message":"m","paths":["d"]}`, "d/k.txt:1 has a private key"},
		"by name":      {".env", "A=1\n", `{"message":"m","paths":[".env"]}`, ".env"},
		"staged":       {"s.txt", key + "\n", `{"message":"m"}`, "s.txt:1 has"},
		"staged name":  {"id_rsa", "x\n", `{"message":"m"}`, "id_rsa"},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t)
			r.write(c.file, c.text)
			if strings.HasPrefix(name, "staged") {
				r.git("add", c.file)
			}
			before := r.git("rev-parse", "HEAD")
			res := r.call(gittool.Commit, c.args)
			r.says(res, true, c.says)
			if strings.Contains(res.Text, key) {
				t.Error("the refusal repeats the secret")
			}
			if r.git("rev-parse", "HEAD") != before {
				t.Error("it was committed")
			}
		})
	}
	// An operator can say that a finding is none.
	test := open(t)
	test.write("fixture.txt", key+"\n")
	allowed := secret.With(t.Context(), secret.NewRedactor(secret.Options{Allow: []string{secret.Fingerprint(key)}}))
	res, err := gittool.Commit.Run(allowed, test.env, json.RawMessage(`{"message":"Add a fixture","paths":["fixture.txt"]}`))
	if err != nil || res.Failed {
		t.Errorf("an allowed finding: %v, %q", err, res.Text)
	}
	// What was there before is not this commit's doing.
	r := open(t)
	r.write("old.txt", key+"\nx\n")
	r.git("add", ".")
	r.git("commit", "-q", "-m", "Old sin")
	r.write("old.txt", key+"\ny\n")
	r.says(r.call(gittool.Commit, `{"message":"Change y","paths":["old.txt"]}`), false, "Change y")
}

func TestBranch(t *testing.T) {
	r := open(t)
	r.says(r.call(gittool.Branch, `{}`), false, "* main")
	r.says(r.call(gittool.Branch, `{"name":"topic"}`), false, "created topic")
	r.says(r.call(gittool.Branch, `{"name":"topic"}`), false, "Already on topic")
	r.says(r.call(gittool.Branch, `{"name":"main"}`), false, "switched to main")
	r.says(r.call(gittool.Branch, `{"name":"topic","from":"main"}`), true, "exists already")
	if got := r.git("branch", "--show-current"); got != "main" {
		t.Errorf("on %q", got)
	}
}

// Conformance 39: no value becomes an option.
func TestOptions(t *testing.T) {
	r := open(t)
	r.write("a.txt", "one\n2\n")
	for _, v := range []string{"--output=pwned", "-O", "--upload-pack=touch pwned", "-c", "--exec=touch pwned", "--no-index"} {
		b, _ := json.Marshal(v)
		for tool, args := range map[*tools.Tool]string{
			&gittool.Diff: `{"since":` + string(b) + `}`, &gittool.Branch: `{"name":` + string(b) + `}`,
			&gittool.Commit: `{"message":"m","paths":[` + string(b) + `]}`,
		} {
			if res := r.call(*tool, args); !res.Failed {
				t.Errorf("%s %s: %s", tool.Name, args, res.Text)
			}
		}
		r.call(gittool.Log, `{"path":`+string(b)+`}`)
		r.call(gittool.Diff, `{"paths":[`+string(b)+`]}`)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "pwned")); err == nil {
		t.Error("an option was obeyed")
	}
}

// Conformance 44: nothing the repository configures is run.
func TestHostile(t *testing.T) {
	r := open(t)
	mark := filepath.Join(t.TempDir(), "pwned")
	script := filepath.Join(r.dir, "evil.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch "+mark+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.write(".gitattributes", "* diff=evil filter=evil\n")
	for _, hook := range []string{"pre-commit", "commit-msg", "post-commit", "post-checkout", "reference-transaction"} {
		if err := os.WriteFile(filepath.Join(r.dir, ".git/hooks", hook), []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, kv := range [][2]string{
		{"core.fsmonitor", script}, {"diff.external", script}, {"diff.evil.textconv", script}, {"diff.evil.command", script},
		{"filter.evil.clean", script}, {"filter.evil.smudge", script}, {"core.pager", script}, {"core.editor", script},
		{"gpg.program", script}, {"commit.gpgsign", "true"}, {"alias.status", "!" + script}, {"core.sshCommand", script},
	} {
		r.git("config", kv[0], kv[1])
	}
	os.Remove(mark) // setting up may have run some of it
	r.write("a.txt", "one\n2\n")
	r.says(r.call(gittool.Status, `{}`), false)
	r.says(r.call(gittool.Diff, `{}`), false, "+2")
	r.says(r.call(gittool.Log, `{}`), false)
	r.says(r.call(gittool.Commit, `{"message":"Change","paths":["a.txt"]}`), true, `goes through the filter "evil"`)
	r.git("config", "--unset", "filter.evil.clean")
	res := r.call(gittool.Commit, `{"message":"Change","paths":["a.txt"]}`)
	r.says(res, false, "Change")
	if hash := r.git("rev-parse", "HEAD"); string(res.Value) != strconv.Quote(hash) {
		t.Errorf("the value is %s, and HEAD is %s", res.Value, hash)
	}
	r.says(r.call(gittool.Branch, `{"name":"topic"}`), false)
	if _, err := os.Stat(mark); err == nil {
		t.Error("something the repository configures was run")
	}
}

// What git does not look into is named: a clone, and a submodule, also one that .gitmodules
// does not have.
func TestInnerRepositories(t *testing.T) {
	r := open(t)
	for _, d := range []string{"emb", "clone"} {
		r.write(d+"/x", "one\n")
		r.git("init", "-q", d)
		r.git("-C", d, "add", "x")
		r.git("-C", d, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "x")
	}
	r.git("-c", "advice.addEmbeddedRepo=false", "add", "emb")
	r.git("commit", "-qm", "emb")
	r.write("emb/x", "two\n")
	for _, tool := range []tools.Tool{gittool.Status, gittool.Diff} {
		r.says(r.call(tool, `{}`), false, "is not shown", ": clone, emb. git -C DIR")
	}
}

// A file that is hidden from commands looks changed to git; whether it is, is not known.
func TestHiddenIsNotCompared(t *testing.T) {
	r := open(t)
	r.write(".env", "KEY=one\n")
	r.git("add", "-f", ".env")
	r.git("commit", "-qm", "env")
	r.write(".env", "")
	res := r.call(gittool.Status, `{}`)
	r.says(res, false, "Nothing differs", "Not compared, since no tool may read them: .env.")
	if strings.Contains(res.Text, "modified") || res.Summary != "clean" {
		t.Errorf("%s: %s", res.Summary, res.Text)
	}
	r.write("a.txt", "three\n")
	r.says(r.call(gittool.Status, `{}`), false, "modified: a.txt", "Not compared")
}

func TestNoRepository(t *testing.T) {
	r := open(t)
	if err := os.RemoveAll(filepath.Join(r.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []tools.Tool{gittool.Status, gittool.Diff, gittool.Log, gittool.Branch} {
		r.says(r.call(tool, `{}`), true, "not a git repository")
	}
}

// What a barrier keeps from the file tools, git does not show or commit either,
// also where a call names no path, nor what the operator's own names keep.
func TestBarrier(t *testing.T) {
	r := open(t)
	r.write("deploy/plan.txt", "launch at nine\n")
	r.git("add", ".")
	r.git("commit", "-q", "-m", "Plan")
	r.write("deploy/plan.txt", "launch at ten\n")
	r.write("a.txt", "one\n2\n")
	r.says(r.call(gittool.Diff, `{}`), false, "launch at ten")
	barred := func(name string, _ bool) string {
		if strings.HasPrefix(name, "deploy") {
			return "deploy is not yours"
		}
		return ""
	}
	r.env.Files = r.env.Files.WithGuard(barred)
	for tool, args := range map[*tools.Tool]string{&gittool.Diff: `{}`, &gittool.Show: `{}`} {
		if res := r.call(*tool, args); res.Failed || strings.Contains(res.Text+string(res.Artifacts["git_diff"]), "launch") {
			t.Errorf("%s says %q", tool.Name, res.Text)
		}
	}
	r.says(r.call(gittool.Diff, `{}`), false, "+2")
	r.says(r.call(gittool.Blame, `{"path":"deploy/plan.txt"}`), true, "deploy is not yours")
	r.says(r.call(gittool.Log, `{"path":"deploy"}`), true, "deploy is not yours")
	r.says(r.call(gittool.Commit, `{"message":"All","paths":["."]}`), true, "deploy is not yours")
	r.says(r.call(gittool.Commit, `{"message":"Mine","paths":["a.txt"]}`), false, "Mine")

	names := &workspace.DenyList{Deny: []string{"plan.txt"}}
	ex := r.env.Exec.(*process.Runner)
	ex.DenyList = names
	r.env.Files = r.env.Files.WithGuard(nil).WithDenyList(names)
	r.says(r.call(gittool.Blame, `{"path":"deploy/plan.txt"}`), true, "list of secrets")
}
