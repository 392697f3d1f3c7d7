package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// An effect is a job with a step that has an effect, and what has to come of it if the
// process dies in that step, after the effect.
type effect struct {
	name  string
	args  []string
	files map[string]string
	at    string // the point: N performed NAME
	// said is a person's input. resume continues the killed job, and resumed is the input
	// there; by default it is jobs resume.
	said    string
	resume  []string
	resumed string
	served  bool // a server runs the job and is killed
	// asks reports that a person decides; otherwise the job ends by itself with code.
	// most bounds the number of times that the effect occurs.
	asks   bool
	denied bool
	code   int
	most   int
}

// mark writes a line of its own into the log of effects; markHome does, too, from a
// copy of the workspace.
const (
	mark     = "echo effect $$ >>log\n"
	markHome = "echo effect $$ >>$HOME/log\n"
)

func effects() []effect {
	run := func(step string) map[string]string {
		return map[string]string{"turns.yaml": "turns: [{text: none}]\n", "repo/post.sh": mark, "repo/build.sh": mark, "repo/fails.sh": mark + "exit 3\n",
			"home/.config/adroit/pipelines/p.yaml": "steps:\n  - " + step + "\n  - {id: after, tool: list_files}\n"}
	}
	pipeline := func(name, step string, e effect) effect {
		e.name, e.files, e.at = "pipeline, "+name, run(step), "1 performed shell"
		e.args = []string{"run", "p", "-m", "script:../turns.yaml", "--approve", "all"}
		return e
	}
	shell := "turns:\n  - calls: [{name: shell, args: {command: sh post.sh}}]\n  - {expect: {contains: may or may not have happened}, text: \"Looked.\\nDONE\"}\n"
	agent := "---\nname: poster\ndescription: Posts.\ntools: [shell, finish]\ndone: {signal: DONE}\n---\nYou post.\n"
	fix := map[string]string{"turns.yaml": "turns: [{text: none}]\n", "repo/build.sh": "test -f second && " + mark + "touch second\n" + `test -n "$FIRST" && exit 1; exit 0`, "repo/release.sh": mark,
		"phases.yaml": "prepare: {run: test -f second || { touch second; exit 1; }, repeatable: true}\nship: {run: sh x.sh, repeatable: true}\n", "repo/x.sh": mark,
		"repo/once.sh":                        "test -f second && " + mark + "test -f second || { touch second; exit 7; }\n",
		"home/.config/adroit/problems/x.yaml": "detectors:\n  - {name: seven, exit_code: [1, 7]}\nstrategy:\n  - {retry: 1, wait: 1ms}\n"}
	fixing := func(name string, e effect, args ...string) effect {
		e.name, e.files, e.at = "fix, "+name, fix, cmp.Or(e.at, "1 performed rerun")
		e.args = append([]string{"fix", "-m", "script:../turns.yaml", "--approve", "all"}, args...)
		return e
	}
	// A sub-agent posts as the agent above does, for one that delegates to it, or in a copy.
	below := map[string]string{"repo/post.sh": markHome, "home/.config/adroit/agents/poster.md": agent,
		"home/.config/adroit/agents/lead.md":   "---\nname: lead\ndescription: Delegates.\nspawn: [poster]\n---\nYou lead.\n",
		"home/.config/adroit/agents/top.md":    "---\nname: top\ndescription: Delegates, too.\nspawn: {agents: [lead], depth: 2}\n---\nYou are on top.\n",
		"home/.config/adroit/pipelines/p.yaml": "steps:\n  - {id: post, agent: poster, input: Post, worktree: true}\n",
		"home/.config/adroit/pipelines/q.yaml": "steps:\n  - {id: all, parallel: [{id: post, agent: poster, input: Post, worktree: true}, {id: b, tool: list_files}]}\n",
		"turns.yaml": "scenes:\n  - when: You lead\n    turns:\n      - calls: [{name: spawn_agent, args: {agent: poster, task: Post.}}]\n      - text: Posted.\n" +
			"  - when: You are on top\n    turns:\n      - calls: [{name: spawn_agent, args: {agent: lead, task: Post.}}]\n      - text: Posted.\n" +
			"  - when: You post\n    " + strings.ReplaceAll(shell, "\n", "\n    ")}
	delegating := func(name, at string, args ...string) effect {
		return effect{name: "sub-agent, " + name, args: append(args, "-m", "script:../turns.yaml", "--approve", "all", "--sandbox", "off"), files: below, at: "1 performed " + at, most: 1}
	}
	joining := delegating("in a copy that is joined", "join", "run", "p")
	joining.files = maps.Clone(below)
	joining.files["turns.yaml"] = "turns:\n  - calls: [{name: shell, args: {command: sh post.sh}}]\n  - text: DONE\n"
	chatting := func(name, resumed string) effect {
		return effect{name: "chat, " + name, args: []string{"chat", "poster", "-m", "script:../turns.yaml", "--approve", "all"}, said: "Post.\n", at: "1 performed shell", most: 1,
			resume: []string{"chat", "--continue"}, resumed: resumed,
			files: map[string]string{"turns.yaml": shell + "  - text: \"Fine.\\nDONE\"\n  - text: \"Fine.\\nDONE\"\n  - text: \"Fine.\\nDONE\"\n", "repo/post.sh": mark, "home/.config/adroit/agents/poster.md": agent}}
	}
	return []effect{
		delegating("called by a model", "shell", "run", "lead", "Post"),
		delegating("of a sub-agent", "shell", "run", "top", "Post"),
		delegating("in a copy", "shell", "run", "p"),
		delegating("in a copy, parallel", "shell", "run", "q"),
		joining,
		{name: "fix, a repair agent", at: "1 performed shell", most: 1, args: []string{"fix", "--memory", "off", "--escalate", "report", "--approve", "all", "-m", "script:../turns.yaml", "--", "sh build.sh"},
			files: map[string]string{"repo/post.sh": mark, "repo/build.sh": "echo a.c:1:1: error: wrong; test -f log\n", "turns.yaml": strings.Replace(shell, "Looked.\\nDONE", "It posts.\\nDONE", 1),
				"home/.config/adroit/agents/poster.md": "---\nname: poster\ndescription: Repairs.\ntools: [shell, finish]\ngrant: [read, write, exec, shell]\nproblem_types: [BUILD_FAILURE]\npriority: 999\ndone: {signal: DONE}\n---\nYou post.\n"}},
		{name: "workflow, until tests pass", at: "1 performed shell", most: 1, args: []string{"run", "until_tests_pass", "Add it.", "--test", "sh test.sh", "-m", "script:../turns.yaml", "--approve", "all"},
			files: map[string]string{"repo/post.sh": mark, "repo/test.sh": "echo 1..1; grep -q good a.txt && echo ok 1 - a || { echo not ok 1 - a; exit 1; }\n",
				"home/.config/adroit/agents/fixer.md": "---\nname: fixer\ndescription: Fixes.\ntools: [shell, write_file, finish]\ngrant: [read, write, exec, shell]\ndone: {signal: DONE}\n---\nYou fix.\n", "turns.yaml": `scenes:
  - when: You fix
    turns:
      - calls: [{name: shell, args: {command: sh post.sh}}]
      - {expect: {contains: may or may not have happened}, calls: [{name: write_file, args: {path: a.txt, content: "good\n"}}]}
      - calls: [{name: finish, args: {summary: It is good.}}]
turns:
  - calls: [{name: write_file, args: {path: a.txt, content: "bad\n"}}]
  - text: '{"status": "complete", "note": "It is there."}'
`}},
		chatting("shown", ""),
		chatting("gone on with", "\n"),
		chatting("redirected", "Leave it.\n"),
		{name: "agent, shell", args: []string{"run", "poster", "Post", "-m", "script:../turns.yaml", "--approve", "all"}, at: "1 performed shell", most: 1,
			files: map[string]string{"turns.yaml": shell, "repo/post.sh": mark, "home/.config/adroit/agents/poster.md": agent}},
		{name: "pipeline, agent", args: []string{"run", "p", "-m", "script:../turns.yaml", "--approve", "all"}, at: "1 performed shell", most: 1,
			files: map[string]string{"turns.yaml": shell, "repo/post.sh": mark, "home/.config/adroit/agents/poster.md": agent,
				"home/.config/adroit/pipelines/p.yaml": "steps:\n  - {id: post, agent: poster, input: Post}\n"}},
		pipeline("run", "{id: work, run: sh post.sh}", effect{asks: true}),
		pipeline("retries", "{id: work, run: sh post.sh, retries: 2}", effect{asks: true}),
		pipeline("fails", "{id: work, run: sh fails.sh}", effect{asks: true, code: 1}),
		pipeline("fails, retries", "{id: work, run: sh fails.sh, retries: 2}", effect{asks: true, code: 4}),
		pipeline("fails, until", "{id: work, run: sh fails.sh, onFailure: continue, until: {step: work, is: done}, max: 3}", effect{asks: true, code: 4}),
		{name: "agent, a check that publishes", at: "1 performed shell", asks: true, code: 4, args: []string{"run", "poster", "Post", "-m", "script:../turns.yaml", "--approve", "all"},
			files: map[string]string{"turns.yaml": "loop: true\nturns: [{text: DONE}]\n", "repo/post.sh": mark,
				"home/.config/adroit/agents/poster.md": strings.Replace(agent, "{signal: DONE}", "{all: [{signal: DONE}, {check: {run: sh post.sh; git push}}]}", 1)}},
		pipeline("coordinate", "{id: work, run: sh post.sh, onFailure: coordinate}", effect{asks: true}),
		pipeline("continue", "{id: work, run: sh post.sh, onFailure: continue}", effect{asks: true}),
		pipeline("parallel", "{id: all, parallel: [{id: work, run: sh post.sh}, {id: b, tool: list_files}]}", effect{asks: true}),
		pipeline("publishes by its id", "{id: publish, run: sh build.sh, repeatable: true}", effect{asks: true}),
		pipeline("repeatable", "{id: work, run: sh post.sh, repeatable: true}", effect{most: 2}),
		pipeline("recognized", "{id: work, run: sh build.sh}", effect{most: 2}),
		fixing("command", effect{asks: true}, "--", "sh once.sh"),
		fixing("repeatable", effect{most: 2}, "--repeatable", "--", "sh once.sh"),
		fixing("phase that publishes", effect{asks: true, at: "1 performed run_outside"}, "--phases", "prepare=test -f second || { touch second; exit 1; },publish=sh release.sh"),
		{name: "validate, a stage", at: "1 performed shell", most: 2, args: []string{"run", "validate", "-m", "script:../turns.yaml", "-i", "stages=@../stages.json", "--approve", "all"},
			files: map[string]string{"turns.yaml": "turns: [{text: none}]\n", "stages.json": `[{"name": "a", "run": "sh a.sh"}]`, "repo/a.sh": mark}},
		{name: "validate, a repair", at: "2 performed shell", asks: true, args: []string{"run", "validate", "-m", "script:../turns.yaml", "-i", "stages=@../stages.json", "--approve", "all"},
			files: map[string]string{"turns.yaml": "turns: [{text: none}]\n", "stages.json": `[{"name": "a", "run": "test -f log", "repair": "sh a.sh"}]`, "repo/a.sh": mark}},
	}
}

// TestKillEffects kills jobs of each kind in a step, after its effect, and resumes them
// three times: there is one effect, unless a person approves another or running the step
// twice does no harm. It takes some of the kinds: see points.
func TestKillEffects(t *testing.T) {
	t.Parallel()
	all := effects()
	for i := range slices.Clone(all) {
		if all[i].asks {
			no := all[i]
			no.name, no.denied = no.name+", no", true
			all = append(all, no)
		}
	}
	for _, e := range slices.Clone(all) {
		if e.said == "" {
			e.name, e.served = e.name+", served", true
			all = append(all, e)
		}
	}
	first, step := sample(t, 15)
	for i := first; i < len(all); i += step {
		t.Run(all[i].name, func(t *testing.T) { all[i].test(t) })
	}
}

func (e *effect) test(t *testing.T) {
	p := newPlace(t, e.files)
	p.bin = program(t)
	e.kill(p)
	p.effects("after the kill", 1, 1)
	if e.resume == nil {
		e.resume = []string{"continue", "last"}
	}
	if !e.asks {
		for i := range 3 {
			code, out := p.typed(e.resumed, e.resume...)
			if i == 0 && code != e.code {
				t.Errorf("resume: exit code %d, want %d\n%s", code, e.code, out)
			}
			p.effects(fmt.Sprintf("after resume %d", i+1), 1, e.most)
		}
		return
	}
	for i := range 3 {
		code, out := p.run("continue", "last")
		if code != 4 || !strings.Contains(out, "may have happened, and nobody can tell") || !strings.Contains(out, "adroit answer approve J") || strings.Contains(out, "reported to the model") {
			t.Errorf("resume %d: exit code %d\n%s", i+1, code, out)
		}
		p.effects(fmt.Sprintf("after resume %d", i+1), 1, 1)
	}
	if e.denied {
		p.run("answer", "deny", "last", "I look first")
		p.effects("after a no", 1, 1)
		_, out := p.run("continue", "last")
		p.effects("resumed after a no: "+out, 1, 1)
		return
	}
	if code, out := p.run("answer", "approve", "last"); code != e.code {
		t.Errorf("approve: exit code %d, want %d\n%s", code, e.code, out)
	}
	p.effects("after a yes", 2, 2)
	if e.code != 0 { // an approval covers one call
		if code, out := p.run("continue", "last"); code != 4 {
			t.Errorf("resumed after a yes: exit code %d\n%s", code, out)
		}
		p.effects("resumed after a yes", 2, 2)
	}
}

// kill kills the job at its point. If it is served, another server goes on.
func (e *effect) kill(p *place) {
	p.t.Helper()
	env := p.env
	at := append(env[:len(env):len(env)], "ADROIT_KILL_AT="+e.at)
	if !e.served {
		p.env = at
		if code, out := p.typed(e.said, e.args...); code != -int(syscall.SIGKILL) {
			p.t.Fatalf("it was not killed: exit code %d\n%s", code, out)
		}
		p.env = env
		return
	}
	s := startServer(p.t, p.bin, at, p.path("repo"), "serve", "--listen", "127.0.0.1:0")
	p.env = append(env[:len(env):len(env)], "ADROIT_SERVER="+s.url)
	if code, out := p.run(e.args...); code == 0 {
		p.t.Fatalf("the server was not killed:\n%s", out)
	}
	if code := ended(p.t, s.stop()); code != -int(syscall.SIGKILL) {
		p.t.Fatalf("the server was not killed: exit code %d", code)
	}
	s = startServer(p.t, p.bin, env, p.path("repo"), "serve", "--listen", "127.0.0.1:0")
	p.env = append(env[:len(env):len(env)], "ADROIT_SERVER="+s.url)
}

// typed is run with something on standard input.
func (p *place) typed(text string, args ...string) (int, string) {
	p.t.Helper()
	cmd, out := p.command(args...)
	cmd.Stdin = strings.NewReader(text)
	return ended(p.t, cmd.Run()), out.String()
}

// effects checks how often the effect is there.
func (p *place) effects(when string, least, most int) {
	p.t.Helper()
	if n := strings.Count(p.read("repo/log")+p.read("home/log"), "effect"); n < least || n > most {
		p.t.Errorf("%s: %d effects, want %d to %d", when, n, least, most)
	}
}
