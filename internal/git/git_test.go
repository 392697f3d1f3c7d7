package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/workspacetest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/process"
)

func gitRepo(t *testing.T) (*Repo, string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	dirtest.Write(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = A\n\temail = a@example.org\n")
	_, led, dir := workspacetest.Repository(t)
	r := process.New(dir, "", led)
	t.Cleanup(func() { r.Close() })
	return New(r), dir
}

func TestStatusDiffLogCommit(t *testing.T) {
	g, dir := gitRepo(t)
	dirtest.Write(t, filepath.Join(dir, "d0/f0.txt"), "changed\n")
	dirtest.Git(t, dir, "mv", "d1/f1.txt", "d1/with space.txt")
	dirtest.Write(t, filepath.Join(dir, "-odd"), "x")
	s, err := g.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []StatusEntry{
		{Path: "d0/f0.txt", Work: "M"}, {Path: "d1/with space.txt", From: "d1/f1.txt", Index: "R"},
		{Path: "staged.txt", Index: "A"}, {Path: "-odd", Untracked: true},
	}
	if s.Branch != "main" || len(s.Commit) != 40 || !slices.Equal(s.Entries, want) {
		t.Errorf("Status = %+v", s)
	}
	d, err := g.Diff(t.Context(), DiffOptions{})
	if err != nil || !strings.Contains(d, "+changed\n") || strings.Contains(d, "staged.txt") {
		t.Errorf("Diff = %q, %v", d, err)
	}
	d, err = g.Diff(t.Context(), DiffOptions{From: "HEAD", Paths: []string{"staged.txt"}, Stat: true})
	if err != nil || !strings.Contains(d, "staged.txt | 1 +") || strings.Contains(d, "f0") {
		t.Errorf("Diff of one path = %q, %v", d, err)
	}
	const message = "Say \"$(touch x)\"; `id`\n\n-- and more\n# kept"
	c, err := g.Commit(t.Context(), message, []string{"d0/f0.txt"})
	if err != nil || c.Subject+"\n\n"+c.Body != message || c.Author != "A" {
		t.Fatalf("Commit = %+v, %v", c, err)
	}
	if s, _ := g.Status(t.Context()); len(s.Entries) != 3 {
		t.Errorf("what was staged by the user is not staged any more: %+v", s.Entries)
	}
	log, err := g.Log(t.Context(), 5, "")
	switch {
	case err != nil:
		t.Errorf("unexpected error: Log = %+v, %v", log, err)
	case len(log) != 2:
		t.Errorf("len(log) is %v, want 2: Log = %+v, %v", len(log), log, err)
	case log[0].Hash != c.Hash:
		t.Errorf("log[0].Hash is %v, want %v: Log = %+v, %v", log[0].Hash, c.Hash, log, err)
	case log[1].Subject != "start":
		t.Errorf(`log[1].Subject is %v, want "start": Log = %+v, %v`, log[1].Subject, log, err)
	case !slices.Equal(log[0].Parents, []string{log[1].Hash}):
		t.Errorf("slices.Equal(log[0].Parents, []string{log[1].Hash}) is false: Log = %+v, %v", log, err)
	}
	if log, err = g.Log(t.Context(), 5, "d3/f3.txt"); err != nil || len(log) != 1 {
		t.Errorf("Log of a path = %+v, %v", log, err)
	}
	var ee *ExitError
	if _, err := g.Commit(t.Context(), "nothing", []string{"d0/f0.txt"}); !errors.As(err, &ee) || ee.Code == 0 {
		t.Errorf("an empty commit: %v", err)
	}
}

func TestBranches(t *testing.T) {
	g, dir := gitRepo(t)
	if err := g.CreateBranch(t.Context(), "topic", ""); err != nil {
		t.Fatal(err)
	}
	if err := g.Switch(t.Context(), "topic"); err != nil {
		t.Fatal(err)
	}
	bs, err := g.Branches(t.Context())
	switch {
	case err != nil:
		t.Errorf("unexpected error: Branches = %+v, %v", bs, err)
	case len(bs) != 2:
		t.Errorf("len(bs) is %v, want 2: Branches = %+v, %v", len(bs), bs, err)
	case bs[0].Name != "main":
		t.Errorf(`bs[0].Name is %v, want "main": Branches = %+v, %v`, bs[0].Name, bs, err)
	case bs[0].Current:
		t.Errorf("bs[0].Current is true: Branches = %+v, %v", bs, err)
	case bs[1].Name != "topic":
		t.Errorf(`bs[1].Name is %v, want "topic": Branches = %+v, %v`, bs[1].Name, bs, err)
	case !bs[1].Current:
		t.Errorf("bs[1].Current is false: Branches = %+v, %v", bs, err)
	}
	if root, err := g.Root(t.Context()); err != nil || root != dir {
		t.Errorf("Root = %q, %v, want %q", root, err, dir)
	}
}

// Conformance 39.
func TestGitRefusesOptions(t *testing.T) {
	g, dir := gitRepo(t)
	before := dirtest.Tree(t, dir)
	for _, v := range []string{"--output=x", "--upload-pack=touch x", "-O", "-Ox", "--exec=touch x", "-c", "--", "", "a\nb", "a\x00b"} {
		errs := map[string]error{
			"branch": g.CreateBranch(t.Context(), v, ""), "switch": g.Switch(t.Context(), v),
		}
		if v != "" {
			errs["from"] = g.CreateBranch(t.Context(), "b", v)
			_, errs["diff from"] = g.Diff(t.Context(), DiffOptions{From: v})
			_, errs["diff to"] = g.Diff(t.Context(), DiffOptions{From: "HEAD", To: v})
			_, errs["log path"] = g.Log(t.Context(), 1, v)
		}
		_, errs["diff path"] = g.Diff(t.Context(), DiffOptions{Paths: []string{v}})
		_, errs["commit path"] = g.Commit(t.Context(), "m", []string{v})
		for what, err := range errs {
			var ae *ArgError
			if !errors.As(err, &ae) {
				t.Errorf("%s %q: %v, want an *ArgError", what, v, err)
			}
		}
	}
	for _, p := range []string{"../x", "/etc/passwd", ".env", ":(top)x/../../y"} {
		if _, err := g.Commit(t.Context(), "m", []string{p}); err == nil {
			t.Errorf("committing %q", p)
		}
	}
	if after := dirtest.Tree(t, dir); !slices.Equal(before, after) {
		t.Errorf("something changed:\n%s", dirtest.Diff(before, after))
	}
}

// Conformance 44: any program that the repository configures would leave a mark.
func TestGitRunsNoCodeOfTheRepository(t *testing.T) {
	g, dir := gitRepo(t)
	mark := filepath.Join(filepath.Dir(dir), "ran")
	run := filepath.Join(filepath.Dir(dir), "run.sh")
	dirtest.Write(t, run, "#!/bin/sh\necho \"$0 $@\" >> "+mark+"\ncat 2>/dev/null\n")
	if err := os.Chmod(run, 0o755); err != nil {
		t.Fatal(err)
	}
	dirtest.Write(t, filepath.Join(filepath.Dir(dir), "included"), "[filter \"inc=luded\"]\n\tclean = "+run+"\n\tsmudge = "+run+"\n[diff \"i\"]\n\ttextconv = "+run+"\n")
	for _, kv := range [][2]string{
		{"core.fsmonitor", run}, {"core.pager", run}, {"core.editor", run}, {"diff.external", run}, {"core.sshCommand", run},
		{"filter.evil.clean", run}, {"filter.evil.smudge", run}, {"filter.proc.process", run}, {"filter.proc.required", "true"},
		{"diff.conv.textconv", run}, {"diff.cmd.command", run}, {"alias.status", "!" + run}, {"alias.st", "!" + run},
		{"filter.user.clean", run}, {"gpg.program", run}, {"commit.gpgSign", "true"}, {"log.showSignature", "true"}, {"include.path", filepath.Join(filepath.Dir(dir), "included")},
		{"pager.diff", run}, {"pager.log", run}, {"core.askPass", run}, {"credential.helper", run}, {"merge.m.driver", run}, {"interactive.diffFilter", run},
	} {
		dirtest.Git(t, dir, "config", kv[0], kv[1])
	}
	for _, h := range []string{"pre-commit", "post-commit", "commit-msg", "prepare-commit-msg", "post-checkout", "post-index-change", "reference-transaction"} {
		dirtest.Write(t, filepath.Join(dir, ".git/hooks", h), dirtest.Content(t, run))
		if err := os.Chmod(filepath.Join(dir, ".git/hooks", h), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dirtest.Write(t, filepath.Join(dir, ".gitattributes"), "f0.txt filter=evil diff=conv\nf1.txt filter=proc diff=cmd\nf2.txt filter=inc=luded diff=i\nf3.txt filter=user\nf4.txt filter=system\n")
	settings := filepath.Join(filepath.Dir(dir), "settings") // of the user and of the system
	dirtest.Write(t, settings, "[filter \"user\"]\n\tclean = tr a-z A-Z\n\trequired = true\n[filter \"system\"]\n\tclean = tr a-z A-Z\n\trequired = true\n[alias]\n\tstatus = !"+run+"\n")
	g.env = append(g.env, "GIT_CONFIG_SYSTEM="+settings)
	for _, name := range []string{"d0/f0.txt", "d1/f1.txt", "d2/f2.txt", "d3/f3.txt"} {
		dirtest.Write(t, filepath.Join(dir, name), "changed\n")
	}
	if _, err := g.Status(t.Context()); err != nil {
		t.Error(err)
	}
	for _, o := range []DiffOptions{{}, {Staged: true}, {From: "HEAD"}, {Stat: true}} {
		if _, err := g.Diff(t.Context(), o); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"d0/f0.txt", "d1/f1.txt", "d2/f2.txt", "d3/f3.txt"} { // without its filter, another file would be committed
		if _, err := g.Commit(t.Context(), "commit", []string{name}); !errors.As(err, new(*FilterError)) {
			t.Errorf("a commit of %s: %v", name, err)
		}
	}
	dirtest.Write(t, filepath.Join(dir, "d4/f4.txt"), "changed\n")
	if _, err := g.Commit(t.Context(), "commit", []string{".gitattributes", "d4/f4.txt"}); err != nil || dirtest.Git(t, dir, "show", "HEAD:d4/f4.txt") != "CHANGED\n" {
		t.Error(err, dirtest.Git(t, dir, "show", "HEAD:d4/f4.txt"))
	}
	if _, err := g.Log(t.Context(), 3, "d0/f0.txt"); err != nil {
		t.Error(err)
	}
	if err := g.CreateBranch(t.Context(), "old", "HEAD~1"); err != nil {
		t.Error(err)
	}
	if err := g.Switch(t.Context(), "old"); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(mark); err == nil {
		t.Errorf("code of the repository ran:\n%s", b)
	}
}

// A repository whose configuration names another work tree.
func TestWorkTreeElsewhere(t *testing.T) {
	g, dir := gitRepo(t)
	elsewhere := t.TempDir()
	dirtest.Write(t, filepath.Join(elsewhere, "secret"), "token")
	for _, to := range []string{elsewhere, "/"} {
		dirtest.Git(t, dir, "config", "core.worktree", to)
		if s, err := g.Status(t.Context()); err == nil {
			t.Errorf("Status with work tree %s = %+v", to, s)
		}
		if d, err := g.Diff(t.Context(), DiffOptions{}); err == nil || strings.Contains(d, "token") {
			t.Errorf("Diff with work tree %s = %q, %v", to, d, err)
		}
	}
}

func TestGitHidesSecrets(t *testing.T) {
	g, dir := gitRepo(t)
	dirtest.Write(t, filepath.Join(dir, ".env"), "KEY=old\n")
	dirtest.Git(t, dir, "add", "-f", ".env")
	if d, err := g.Diff(t.Context(), DiffOptions{Staged: true}); err != nil || strings.Contains(d, "KEY") || !strings.Contains(d, "staged.txt") {
		t.Errorf("Diff = %q, %v", d, err)
	}
	var pe *rootfs.PathError
	if _, err := g.Commit(t.Context(), "all that is staged", nil); !errors.As(err, &pe) {
		t.Errorf("a staged secret was committed: %v", err)
	}
	if _, err := g.Commit(t.Context(), "a directory", []string{"."}); !errors.As(err, &pe) {
		t.Errorf("a secret was committed with its directory: %v", err)
	}
}

func TestGitInASubdirectory(t *testing.T) {
	_, dir := gitRepo(t)
	dirtest.Write(t, filepath.Join(dir, "d0/f0.txt"), "changed\n")
	dirtest.Write(t, filepath.Join(dir, "d1/f1.txt"), "changed\n")
	r := process.New(filepath.Join(dir, "d0"), "", nil)
	defer r.Close()
	g := New(r)
	s, err := g.Status(t.Context())
	if err != nil || len(s.Entries) != 1 || s.Entries[0].Path != "f0.txt" {
		t.Errorf("Status = %+v, %v", s, err)
	}
	d, err := g.Diff(t.Context(), DiffOptions{})
	if err != nil || !strings.Contains(d, "a/f0.txt") || strings.Contains(d, "f1") {
		t.Errorf("Diff = %q, %v", d, err)
	}
	if _, err := g.Commit(t.Context(), "below", []string{"f0.txt"}); err != nil {
		t.Error(err)
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add("# branch.oid (initial)\x00# branch.head main\x001 .M N... 100644 100644 100644 a b c d e\x00? x\x00")
	f.Add("2 R. N... 1 2 3 a b R100 new\x00old\x00u UU N... 1 2 3 4 a b c d\x00# branch.ab +1 -2\x00")
	f.Fuzz(func(t *testing.T, s string) {
		if st, err := parseStatus(s, "p/"); (st == nil) == (err == nil) {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

// Who commits is found by git's own rules: by the environment, and by the file that
// GIT_CONFIG_GLOBAL names.
func TestIdentity(t *testing.T) {
	other := filepath.Join(t.TempDir(), "config")
	dirtest.Write(t, other, "[user]\n\tname = Of File\n\temail = file@example.org\n")
	for want, env := range map[string]map[string]string{
		"Of File <file@example.org>": {"GIT_CONFIG_GLOBAL": other},
		"Of Env <env@example.org>":   {"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_AUTHOR_NAME": "Of Env", "GIT_AUTHOR_EMAIL": "env@example.org", "GIT_COMMITTER_NAME": "C", "GIT_COMMITTER_EMAIL": "c@example.org"},
	} {
		t.Run(want, func(t *testing.T) {
			g, dir := gitRepo(t)
			for k, v := range env {
				t.Setenv(k, v)
			}
			dirtest.Write(t, filepath.Join(dir, "new"), "x")
			c, err := g.Commit(t.Context(), "New", []string{"new"})
			if err != nil {
				t.Fatal(err)
			}
			if c.Author+" <"+c.Email+">" != want {
				t.Errorf("%+v", c)
			}
		})
	}
}

// The error of a commit without an identity is one line with advice, not git's page.
func TestNoIdentity(t *testing.T) {
	g, dir := gitRepo(t)
	dirtest.Write(t, filepath.Join(os.Getenv("HOME"), ".gitconfig"), "[user]\n\tuseConfigOnly = true\n")
	dirtest.Write(t, filepath.Join(dir, "new"), "x")
	_, err := g.Commit(t.Context(), "New", []string{"new"})
	var exit *ExitError
	if !errors.As(err, &exit) || !exit.NoIdentity() || strings.Contains(err.Error(), "\n") {
		t.Fatalf("Commit: %q", err)
	}
	if !strings.Contains(exit.Hint(), "user.email") {
		t.Errorf("the hint is %q", exit.Hint())
	}
}
