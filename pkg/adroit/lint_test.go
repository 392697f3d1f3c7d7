package adroit_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/parts"
)

// faulty are files of agents with one fault each, and values built in Go with what no
// file can say.
var faulty = []any{
	"", "---\n", "---\n---\n" + strings.Repeat("x", 1<<20-7), "---\n" + strings.Repeat("#", 65<<10) + "\n---\nx", "---\nname: \xff\xfe\xfd\n---\nx",
	front("tools: ["), front("name: a\nname: b"), front("name: A B"), front("nobody: 1"), front("tools: {}"), "---\ndescription: d\n---\n",
	front("mode: no"), front("calling: no"), front("effort: no"), front("memory: no"), front("permissions: 1"), front("permissions: [{tool: shell, do: no}]"), front("spawn: {agents: []}"),
	front("spawn: {agents: [counter], total: 0}"), front("problem_types: [nonsense]"), front("limits: {calls: 1}"), front("limits: {calls: {read_file: 0}}"), front("expose: perhaps"), front("grant: [no]"),
	front("inputs: 1"), front("inputs: {a: {optional: no}}"), front("inputs: {a: {bytes: -1}}"), front("done: {all: x}"), front("done: {check: 1}"),
	"---\nname: job_a\ndescription: d\nexpose: true\n---\nYou.", front("limits: {turns: -2}"), front("output: {type: nothing}"), front("options: {temperature: 3}"), front("skills: ['[']"),
	front("aliases: [A B]"), front("priority: 2000"), front("spawn: [nobody]\ntools: [spawn_agent]"), front("tools: [no_such]"), front("deny: [no_such]"), front("auto: [no_such]"), front("model: Non Sense"),
	front("tools: [read_file, read_file, write_file]\ngrant: [read]"), front("tools: [edit_*, no_*]"),
	front("done: {signal: OK, artifact: diff}"), front("done: {}"), front("done: {signal: OK, where: {type: string}}"), front("done: {artifact: diff, where: {type: nothing}}"),
	front("done: {signal: OK, if_missing: {artifact: diff}}"), front("done: {check: run_tests, if_missing: {}}"), front("done: {signal: OK, when: {signal: OK}}"),
	front("done: {tool: read_file}"), front("done: {tool: no_such}"), front("done: {all: []}"), front("done: {any: []}"), front("done: {artifact: never}"), front("done: {check: make x}"), front("done: {check: no_such}"),
	front("done: {check: list_files}"), front("done: {check: run_check}"), front(`done: {signal: "A\nB"}`),
	"---\ndescription: d\n---\n{{.Nobody}}", "---\ndescription: d\n---\n{{if}}", "---\ndescription: d\n---\n{{index .Tools 99}}", front("workflow: no_such"),

	func(a *agents.DynamicAgent) { a.Name = "A B" }, func(a *agents.DynamicAgent) { a.Name = "" }, func(a *agents.DynamicAgent) { a.Prompt = " " },
	func(a *agents.DynamicAgent) { a.Mode = "no" }, func(a *agents.DynamicAgent) { a.Calling = "no" }, func(a *agents.DynamicAgent) { a.Options.Effort = "no" },
	func(a *agents.DynamicAgent) { a.Memory = "no" }, func(a *agents.DynamicAgent) { a.Permissions = []permit.Rule{{Tool: "shell", Do: "no"}} },
	func(a *agents.DynamicAgent) { a.Limits.Calls = map[string]int{"read_file": 0} }, func(a *agents.DynamicAgent) { a.Inputs = []agents.Field{{Name: "a", Bytes: -1}} },
	func(a *agents.DynamicAgent) { a.ProblemTypes = []string{"nonsense"} }, func(a *agents.DynamicAgent) { a.Spawn = &agents.Spawn{} },
	func(a *agents.DynamicAgent) { a.Spawn = &agents.Spawn{Agents: []string{"counter"}, Depth: -1} },
	func(a *agents.DynamicAgent) { a.Spawn = &agents.Spawn{Problems: []string{"nonsense"}} },
	func(a *agents.DynamicAgent) { a.Done = executor.Criterion{Signal: "OK", Artifact: "never"} },
	func(a *agents.DynamicAgent) { a.Done = executor.Criterion{All: []executor.Criterion{{}}} },
}

func front(lines string) string {
	if strings.HasPrefix(lines, "name") {
		return "---\n" + lines + "\ndescription: d\n---\nYou."
	}
	return "---\ndescription: d\n" + lines + "\n---\nYou."
}

// What lint refuses, nothing runs, and each way in says so in the same words.
func TestWhatLintRefuses(t *testing.T) {
	var said []string
	for i, sample := range faulty {
		var words string
		if text, ok := sample.(string); ok {
			words = refusedFile(t, fmt.Sprintf("%d %.40q", i, text), text)
		} else {
			a := agents.DynamicAgent{Name: "faulty", Description: "d", Prompt: "You."}
			sample.(func(*agents.DynamicAgent))(&a)
			words = refusedValue(t, fmt.Sprintf("value %d", i), a, "")
		}
		said = append(said, words)
	}
	everyFault(t, "agents", []string{"key", "at", "bad", "broken", "unknown", "word"}, said)
}

func lintOptions(t *testing.T, files map[string]string, pipelines map[string]string) adroit.Options {
	t.Helper()
	name := "faulty"
	if files["job_a"] != "" {
		name = "job_a"
	}
	o := bossed(t, "turns:\n  - calls: [{name: spawn_agent, args: {agent: "+name+", task: Go.}}]\n  - text: Done.", files)
	o.Tools, o.Storage = parts.Tools(), adroit.Storage{}
	fs := fstest.MapFS{}
	for name, text := range pipelines {
		fs[name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	o.Pipelines = []agents.Layer{{Name: "mine", FS: fs}}
	return o
}

// refusedFile has all that can be done with the file of an agent, and returns what lint says.
func refusedFile(t *testing.T, what, text string) string {
	t.Helper()
	name := "faulty"
	if strings.HasPrefix(text, "---\nname: job_a") {
		name = "job_a"
	}
	one, err := open(t, lintOptions(t, map[string]string{"counter": front("tools: [read_file]")}, nil)).
		LintAgents(t.Context(), adroit.LintRequest{Files: []adroit.LintFile{{Name: name + ".md", Text: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	words := first(one.Problems)
	rt, err := adroit.Open(t.Context(), lintOptions(t, map[string]string{name: text, "counter": front("tools: [read_file]"),
		"lead": "---\ndescription: d\ntools: [spawn_agent]\nspawn: [" + name + "]\n---\nYou lead."},
		map[string]string{"p": "steps:\n  - {id: a, agent: " + name + ", input: go}\n"}))
	if err != nil {
		if words == "" || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: Open says %v, lint %q", what, err, words)
		}
		return words
	}
	defer rt.Close()
	if words == "" { // it is about other agents
		all, err := rt.LintAgents(t.Context(), adroit.LintRequest{})
		if err != nil {
			t.Fatal(err)
		}
		words = first(all.Problems)
	}
	runs(t, rt, what, words, map[string]adroit.Request{
		"run": {Input: agents.Input{Agent: name, Prompt: "go"}}, "spawn": {Input: agents.Input{Agent: "lead", Prompt: "go"}}, "pipeline": {Input: agents.Input{Pipeline: "p", Prompt: "go"}}})
	if a, problems := agents.Parse(name+".md", []byte(text)); problems.Err() == nil && !strings.Contains(text, "workflow:") {
		a.Source, a.Done.Signal = agents.Source{}, strings.ReplaceAll(a.Done.Signal, "\\n", "\n")
		if text != front("done: {}") { // a value with no criterion is done when its model is
			refusedValue(t, what, *a, words)
		}
	}
	return words
}

// refusedValue has all that can be done with an agent that was built in Go.
func refusedValue(t *testing.T, what string, a agents.DynamicAgent, words string) string {
	t.Helper()
	o := lintOptions(t, map[string]string{"counter": front("tools: [read_file]")}, nil)
	o.Literals = []agents.DynamicAgent{a}
	rt, err := adroit.Open(t.Context(), o)
	if err == nil {
		err = rt.Close()
		if err == nil && !strings.Contains(words, "spawn: ") { // other agents may come with a project
			t.Errorf("%s: Open takes it", what)
		}
	} else if found := (agents.Problems)(nil); errors.As(err, &found) && words == "" {
		words = first(found)
	}
	if err != nil && !strings.Contains(err.Error(), words) {
		t.Errorf("%s: Open says %v, lint %q", what, err, words)
	}
	o.Literals = nil
	runs(t, open(t, o), what, words, map[string]adroit.Request{"value": {Input: agents.Input{Spec: &a, Agent: a.Name, Prompt: "go"}}})
	return words
}

func runs(t *testing.T, rt *adroit.Runtime, what, words string, requests map[string]adroit.Request) {
	t.Helper()
	words, _, _ = strings.Cut(words, "; there are") // which differ
	for way, r := range requests {
		for over, client := range map[string]adroit.Client{"in Go": rt, "over HTTP": api.Loopback(rt)} {
			if way == "spawn" && strings.Contains(words, "spawn: ") {
				continue // nobody below it is spawned, as deep as it is
			}
			_, err := client.Submit(t.Context(), r)
			if err == nil && way == "spawn" { // its parent reports it
				j, err2 := adroit.Start(t.Context(), rt, adroit.Request{Input: r.Input})
				if err = err2; err == nil {
					_, err = j.Wait(t.Context())
					err = errors.Join(err, eventsOf(t, rt, j.ID()))
				}
			}
			if way == "spawn" && strings.Contains(words, "is led by the workflow") && err != nil && !strings.Contains(err.Error(), "agent.started") {
				continue // its parent's model has the words
			}
			if err == nil || words == "" || !strings.Contains(err.Error(), words) {
				t.Errorf("%s, %s %s: %v; lint says %q", what, way, over, err, words)
			}
		}
	}
}

// first is the first error of some problems.
func first(ps agents.Problems) string {
	for _, p := range ps {
		if p.Severity == agents.Error {
			return p.Message
		}
	}
	return ""
}

var verb = regexp.MustCompile(`%[-+.#0-9]*[a-z]`)

// everyFault fails for each message of an error in the source of a package that none of
// said shows.
func everyFault(t *testing.T, pkg string, makers []string, said []string) {
	t.Helper()
	files, err := filepath.Glob("../" + pkg + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	n := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "skills.go" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			format, ok := faultOf(call, makers)
			if !ok {
				return true
			}
			n++
			var parts []string
			for _, part := range verb.Split(format, -1) {
				parts = append(parts, regexp.QuoteMeta(part))
			}
			shape := regexp.MustCompile("(?s)^" + strings.Join(parts, ".*") + "$")
			for _, words := range said {
				if shape.MatchString(words) {
					return true
				}
			}
			t.Errorf("%s: no sample has %q", filepath.Base(name), format)
			return true
		})
	}
	if n < 20 {
		t.Errorf("%d messages found in %s", n, pkg)
	}
}

// faultOf is the message of a call that reports an error: its last text, or the one before
// the values that go into it.
func faultOf(call *ast.CallExpr, makers []string) (string, bool) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.Contains(" "+strings.Join(makers, " ")+" ", " "+sel.Sel.Name+" ") {
		return "", false
	}
	var text []string
	isError := sel.Sel.Name == "bad"
	for _, arg := range call.Args {
		switch arg := arg.(type) {
		case *ast.Ident:
			if arg.Name == "Warning" || arg.Name == "Note" {
				return "", false
			}
			isError = isError || arg.Name == "Error"
		case *ast.BasicLit:
			if s, err := strconv.Unquote(arg.Value); err == nil && arg.Kind == token.STRING {
				text = append(text, s)
			}
		}
	}
	if !isError || len(text) == 0 || strings.Trim(text[len(text)-1], "%sv") == "" {
		return "", false
	}
	return text[len(text)-1], true
}

// eventsOf is what the events of a job say.
func eventsOf(t *testing.T, rt *adroit.Runtime, id string) error {
	t.Helper()
	var all strings.Builder
	for ev := range manager(t, rt).Store.Events(t.Context(), id, 0, false) {
		fmt.Fprintln(&all, ev.Kind, ev.Name, ev.Text, ev.Error)
	}
	return errors.New(all.String())
}
