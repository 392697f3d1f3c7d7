package agents_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

const full = `---
name: counter
description: Count the words of a file.
model: ollama/qwen3:8b
tools: [word_count, "git_*", finish]
deny: [git_push]
done:
  all:
    - signal: COUNTED
    - artifact: words
      where: {type: integer, minimum: 1}
    - any: [{tool: word_count}, {check: git_status}]
limits: {turns: 10, tokens: 4000, cost_usd: 0.5, time: 30m, rejects: 2}
capabilities: [text]
problem_types: BUILD_FAILURE, TEST_FAILURE
priority: 7
inputs:
  file: The file to count.
  depth: {description: How deep., default: 3}
  note: {optional: true}
grant: [read, exec]
aliases: [wc]
output: {type: object}
options: {temperature: 0.2, max_tokens: 100, window: 8192}
---

You count {{.Inputs.file}}.
`

func TestParse(t *testing.T) {
	a, ps := agents.Parse("agents/counter.md", []byte(full))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"counter","description":"Count the words of a file.","model":"ollama/qwen3:8b",` +
		`"tools":["word_count","git_*","finish"],"deny":["git_push"],` +
		`"done":{"all":[{"signal":"COUNTED"},{"artifact":"words","where":{"type":"integer","minimum":1}},` +
		`{"any":[{"tool":"word_count"},{"check":"git_status"}]}]},` +
		`"limits":{"turns":10,"tokens":4000,"cost_usd":0.5,"time":1800000000000,"rejects":2},` +
		`"capabilities":["text"],"problem_types":["BUILD_FAILURE","TEST_FAILURE"],"priority":7,` +
		`"inputs":[{"name":"file","description":"The file to count."},` +
		`{"name":"depth","description":"How deep.","optional":true,"default":3},{"name":"note","optional":true}],` +
		`"grant":["read","exec"],"aliases":["wc"],"output":{"type":"object"},` +
		`"options":{"temperature":0.2,"max_tokens":100,"window":8192},"prompt":"You count {{.Inputs.file}}."}`
	if string(b) != want {
		t.Errorf("parsed\n%s\nwant\n%s", b, want)
	}
	var back agents.DynamicAgent
	if err := json.Unmarshal(b, &back); err != nil || *back.Grant != tools.Read|tools.Exec || back.Limits.Time != 30*time.Minute {
		t.Errorf("an agent does not survive JSON: %+v, %v", back, err)
	}
}

// TestParseProblems wants every problem, each at its place.
func TestParseProblems(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"no front matter", "You count.", "x.md:1:1: error: there is no front matter; begin with a line ---, then name: and description:, then another ---"},
		{"open", "---\nname: x\n", "x.md:1:1: error: the front matter does not end; close it with a line ---"},
		{"not text", "---\nname: \xff\n---\n", "x.md:1:1: error: the file cannot be read: it is not text in UTF-8, nor in UTF-16 with a byte order mark; save it as UTF-8"},
		{"a list", "---\n- a\n---\nx", "x.md:2:1: error: the front matter is a list, not keys with values; write it like name: builder"},
		{"unknown keys", "---\ntols: [a]\nlimits: {turn: 3, x: 1}\n---\nx",
			"x.md:2:1: error: unknown key \"tols\"; did you mean tools?\n" +
				"x.md:3:10: error: unknown key \"turn\" in limits; did you mean turns?\n" +
				"x.md:3:19: error: unknown key \"x\" in limits; known are calls, cost_usd, rejects, time, tokens, turns"},
		{"wrong kinds", "---\nname: [a]\npriority: high\nlimits: {turns: 1.5, time: 30}\ngrant: [raed]\ndone: {all: x}\n---\nx",
			"x.md:2:7: error: name is a list, not text\n" +
				"x.md:3:11: error: priority is not a whole number\n" +
				"x.md:4:17: error: limits.turns is not a whole number\n" +
				"x.md:4:28: error: limits.time is not a duration; write it like 30m or 1h30m\n" +
				"x.md:5:8: error: grant: unknown capability \"raed\" (did you mean \"read\"?); there are read, write, exec, shell, net, think, publish\n" +
				"x.md:6:13: error: all and any take a list"},
		{"a name that is none", "---\nname: Code Reviewer\n---\nx",
			"x.md:2:7: error: the name \"Code Reviewer\" cannot be used; use lower case letters, digits, - and _, as in code-reviewer"},
		{"references", "---\nname: &a [*a]\ndescription: d\n---\nx",
			"x.md:2:7: error: anchors, references, tags and special numbers are not used here; write the value out"},
		{"brackets without end", "---\ndone: " + strings.Repeat("[", 60000) + "\n---\nx",
			"x.md:2:107: error: the front matter nests more than 100 deep; nothing needs that"},
		{"a model without provider", "---\nname: x\nmodel: GPT\n---\nx",
			"x.md:3:8: error: model \"GPT\" names no provider; write it like ollama/qwen3:8b, or name a role as in cheap"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, ps := agents.Parse("x.md", []byte(tt.src))
			if got := lines(ps); got != tt.want {
				t.Errorf("problems are\n%s\nwant\n%s", got, tt.want)
			}
			if ps.Err() == nil {
				t.Error("that is no error")
			}
		})
	}
}

func lines(ps agents.Problems) string {
	var out []string
	for _, p := range ps {
		out = append(out, p.String())
	}
	return strings.Join(out, "\n")
}

// TestClaude reads a file as people have them for Claude Code.
func TestClaude(t *testing.T) {
	a, ps := agents.Parse("code-reviewer.md", []byte("---\r\nname: code-reviewer\r\n"+
		"description: Use this agent after changes. Examples: <example>user: 'review it'</example>\r\n"+
		"tools: Read, Grep, Glob, Bash(git diff:*), WebFetch, MultiEdit, Edit\r\nmodel: sonnet\r\ncolor: red\r\nmaxTurns: 9\r\n---\r\n\r\nYou review.\r\n"))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	switch {
	case !slices.Equal(a.Tools, []string{"read_file", "search", "list_files", "web_fetch", "edit_file"}):
		t.Errorf(`slices.Equal(a.Tools, []string{"read_file", "search", "list_files", "web_fetch", "edit_file"}) is false: read as %+v`, a)
	case a.Model != "":
		t.Errorf(`a.Model is %v, want "": read as %+v`, a.Model, a)
	case a.Prompt != "You review.":
		t.Errorf(`a.Prompt is %v, want "You review.": read as %+v`, a.Prompt, a)
	case a.Limits.Turns != 9:
		t.Errorf("a.Limits.Turns is %v, want 9: read as %+v", a.Limits.Turns, a)
	}
	if !strings.HasPrefix(a.Description, "Use this agent after changes. Examples: <example>user: 'review it'") {
		t.Errorf("description is %q", a.Description)
	}
	for _, want := range []string{
		"code-reviewer.md:3:1: note: the description is not valid YAML",
		"Bash(git diff:*) cannot be restricted like that and is left out",
		"Read, Grep, Glob, WebFetch, MultiEdit, Edit read as our tools",
		"model sonnet is not known here",
		"color is of no use here",
	} {
		if !strings.Contains(lines(ps), want) {
			t.Errorf("no problem says %q in\n%s", want, lines(ps))
		}
	}
}

// A file in the form of Claude Code is used as it is: its prompt is text, what is not
// known here is left out with a warning, and its name becomes one that is allowed. One
// with a key of ours is ours.
func TestClaudeUnchanged(t *testing.T) {
	all, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		front, name string
		claude      bool
		tools       []string
		problem     string
	}{
		{"name: team-lead\ndescription: x\ntools: Read, WebFetch, TaskUpdate, SendMessage", "team-lead", true, []string{"read_file", "web_fetch", "TaskUpdate", "SendMessage"}, "warning: there is no tool TaskUpdate; it is left out"},
		{"name: dotnet-4.8-expert\ndescription: x\ntools: Read", "dotnet-4-8-expert", true, []string{"read_file"}, `note: the name "dotnet-4.8-expert" is dotnet-4-8-expert here`},
		{"name: Code Reviewer\ndescription: x\nmodel: inherit", "code-reviewer", true, []string{"read_file", "list_files", "search", "edit_file", "write_file", "run_tests"}, "note: the file names no tools; it gets read_file"},
		{"name: own\ndescription: x\ntools: [Read]\ndone: {signal: OK}", "own", false, []string{"read_file"}, "error: the template cannot be used"},
		{"name: own\ndescription: x", "own", false, nil, "note: the file names no tools: the agent can only answer"},
	} {
		a, ps := agents.Parse("x.md", []byte("---\n"+tc.front+"\n---\nPass `${{ secrets.TOKEN }}` and {{.Prompt}}{{/* so */}}.\n"))
		if err := ps.Err(); err != nil {
			t.Fatal(err)
		}
		ps = append(ps, agents.Lint(a, all)...)
		if a.Name != tc.name || a.Source.Claude != tc.claude || !slices.Equal(a.Tools, tc.tools) || !strings.Contains(lines(ps), tc.problem) {
			t.Errorf("%s: it is %s, Claude %v, %q, want %+v; problems are\n%s", tc.front, a.Name, a.Source.Claude, a.Tools, tc, lines(ps))
		}
		if tc.claude && ps.Err() != nil {
			t.Errorf("%s: it cannot be used: %v", tc.front, ps.Err())
		}
		if !tc.claude {
			continue
		}
		task, err := agents.Resolve(agents.Input{Spec: a, Prompt: "go on", Model: "m/x"}, nil, all, agents.Env{})
		if want := "Pass `${{ secrets.TOKEN }}` and {{.Prompt}}{{/* so */}}."; err != nil || !strings.HasPrefix(task.System, want) {
			t.Errorf("%s: the prompt is %q, %v; want %q", tc.front, task.System, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("---\nname: x\n---\n{{range .Tools}}{{.Name}}{{end}}"))
	f.Add([]byte("---\ndescription: a: b\ndone: {all: [[[[{signal: 1e9}]]]]}\n---\n"))
	f.Add([]byte("---\n? {a: b}\n: - c\n---\n{{"))
	f.Fuzz(func(t *testing.T, src []byte) {
		a, ps := agents.Parse("x.md", src)
		for _, p := range ps {
			if p.Line < 1 || p.Message == "" {
				t.Errorf("a problem without a place: %+v", p)
			}
		}
		if a == nil {
			if ps.Err() == nil {
				t.Error("no agent, and no error")
			}
			return
		}
		agents.Lint(a, nil)
		b, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var back agents.DynamicAgent
		if err := json.Unmarshal(b, &back); err != nil {
			t.Errorf("%s does not read back: %v", b, err)
		}
	})
}
