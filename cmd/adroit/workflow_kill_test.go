package main

import (
	"maps"
	"os/exec"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// led is a task that two workers do at once, in worktrees, and that is reviewed
// and fixed. The project has no tests, which would only take time.
const led = `scenes:
  - when: You judge a plan
    turns: [{text: '{"valid": true, "problems": []}'}]
  - when: You divide a task
    turns:
      - text: '{"subtasks": [{"title": "Write left", "description": "Write the file left.txt.", "files": ["left.txt"]}, {"title": "Write right", "description": "Write the file right.txt.", "files": ["right.txt"]}]}'
  - when: You lead work
    turns: [{text: Both are written.}]
  - when: You review code
    turns:
      - calls: [{name: report_findings, args: {summary: s, findings: [{severity: major, category: correctness, file: left.txt, line: 1, title: Odd word, detail: d}]}}]
      - calls: [{name: finish, args: {summary: One.}}]
  - when: A check of the project
    turns:
      - calls: [{name: write_file, args: {path: left.txt, content: "LEFT\n"}}]
      - calls: [{name: finish, args: {summary: Put right.}}]
  - when: "Write left\n"
    turns:
      - text: '{"approach": "A file.", "large": false}'
      - calls: [{name: write_file, args: {path: left.txt, content: "left\n"}}]
      - text: '{"status": "complete", "note": "left is written."}'
      - text: '{"changed": false, "verdict": "Fine."}'
  - when: "Write right\n"
    turns:
      - text: '{"approach": "A file.", "large": false}'
      - calls: [{name: write_file, args: {path: right.txt, content: "right\n"}}]
      - text: '{"status": "complete", "note": "right is written."}'
      - text: '{"changed": false, "verdict": "Fine."}'
`

const committed = `scenes:
  - when: You write the message of one commit
    turns: [{text: '{"subject": "Write left", "body": ""}'}]
` + workerScene

// workerScene is what a worker does that writes left.txt, in a script with scenes.
const workerScene = `  - when: Each message says what to do now
    turns:
      - text: '{"approach": "A file.", "large": false}'
      - calls: [{name: write_file, args: {path: left.txt, content: "left\n"}}]
      - text: '{"status": "complete", "note": "left is written."}'
      - text: '{"changed": false, "verdict": "Fine."}'
`

// TestKillWorkflows kills a supervisor and a worker that commits at some of
// their points (a sample of them: see points), and resumes them in a new process:
// they end as those that were not killed, with one commit, one version of each
// file, and no worktree left.
func TestKillWorkflows(t *testing.T) {
	testenv.Long(t, "starts some hundred processes")
	t.Parallel()
	for _, c := range []struct {
		name, turns string
		run         []string
		every, most int
		log         string
		artifact    string
		wants       []string
	}{
		{"supervisor", led, []string{"run", "supervisor", "Write both."}, 31, 150, "Begin\n", "result", []string{`"fixed": true`, `"reviewed": true`, `"summary": "Both are written."`}},
		{"worker", committed, []string{"run", "worker", "Write left.", "-i", "commit=true"}, 13, 50, "Write left\nBegin\n", "report", []string{`"note": "left is written."`, `Write left"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			begin := func(p *place) {
				p.env = append(p.env, "GIT_CONFIG_GLOBAL="+p.path("gitconfig"), "GIT_CONFIG_NOSYSTEM=1")
				p.git("init", "-q", "-b", "main")
				p.git("config", "user.name", "x")
				p.git("config", "user.email", "x@example.org")
				p.git("add", ".")
				p.git("commit", "-qm", "Begin")
			}
			k := killing{every: c.every, least: c.most, files: map[string]string{"turns.yaml": c.turns, "repo/a.txt": "a\n"}, before: begin, args: append(c.run, "-m", "script:../turns.yaml")}
			whole := newPlace(t, k.files)
			begin(whole)
			whole.ok(0, k.args...)
			want := whole.files()
			k.test(t, func(p *place, at, out string) {
				if got := p.files(); !maps.Equal(got, want) {
					t.Errorf("%s: the tree is %v, want %v\n%s", at, got, want, out)
				}
				if log := p.git("log", "--format=%s"); log != c.log {
					t.Errorf("%s: the log is %q\n%s", at, log, out)
				}
				if trees := p.git("worktree", "list", "--porcelain"); strings.Count(trees, "worktree ") != 1 {
					t.Errorf("%s: worktrees are left:\n%s\n%s", at, trees, out)
				}
				_, kept := p.run("jobs", "artifacts", "last", c.artifact)
				for _, words := range c.wants {
					if !strings.Contains(kept, words) {
						t.Errorf("%s: the artifact has no %s\n%s\n%s", at, words, kept, out)
					}
				}
			})
		})
	}
}

// git runs git in the workspace and gives what it prints.
func (p *place) git(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = p.path("repo"), p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// files is the tree without what git keeps of itself.
func (p *place) files() map[string]string {
	out := p.tree()
	maps.DeleteFunc(out, func(name, _ string) bool { return strings.HasPrefix(name, ".git/") })
	return out
}
