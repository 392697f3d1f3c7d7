package configs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

func load(t testing.TB) (*agents.Catalog, *tools.Set) {
	t.Helper()
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	cat := agents.Load(agents.Layer{Name: "built in", FS: configs.Agents()})
	if ps := cat.Problems(); len(ps) > 0 {
		t.Fatal(ps)
	}
	return cat, set
}

// TestAgents checks that the shipped agents and tools pass the lint without a note and
// take no more than 2,000 tokens of every turn. A whole post or episode takes more tools
// than that.
func TestAgents(t *testing.T) {
	cat, set := load(t)
	if ps := cat.Lint(set); len(ps) > 0 {
		t.Error(ps)
	}
	names := cat.Names()
	for _, name := range []string{"builder", "debugger", "docs-writer", "fixer", "podcast", "reviewer", "triager"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s does not ship", name)
		}
	}
	for _, name := range names {
		a, err := cat.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		task, err := agents.Resolve(agents.Input{Agent: name, Prompt: "x", Model: "m/x", Dir: "/home/someone/project", Inputs: filled(a)}, cat, set, agents.Env{})
		if err != nil {
			t.Fatal(err)
		}
		bytes := len(task.System)
		for _, tool := range task.Tools {
			bytes += len(tool.Name) + len(tool.Description) + len(tool.Input)
		}
		tokens := int(float64(bytes) / 3.3)
		t.Logf("%s: about %d tokens, %d by its own weight", name, tokens, agents.Weight(a, set))
		most := 2000
		switch name {
		case "podcast", "blog":
			most = 3500
		case "chat":
			most = 2250 // it keeps a list of tasks, and offers commands the network
		}
		if tokens >= most {
			t.Errorf("%s takes about %d tokens of every turn, want less than %d", name, tokens, most)
		}
	}
}

// filled gives every input that a declares.
func filled(a *agents.DynamicAgent) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	for _, f := range a.Inputs {
		if out == nil {
			out = map[string]json.RawMessage{}
		}
		out[f.Name] = json.RawMessage(`"x"`)
	}
	return out
}

// TestMentions holds prompts to name no tool that the agent does not have, also
// on a host where some cannot run.
func TestMentions(t *testing.T) {
	cat, set := load(t)
	bare := func(string) error { return errors.New("it is not there") }
	for _, host := range []func(string) error{func(string) error { return nil }, bare} {
		for _, name := range cat.Names() {
			a, err := cat.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			task, err := agents.Resolve(agents.Input{Agent: name, Prompt: "x", Model: "m/x", Inputs: filled(a)}, cat, set, agents.Env{Host: host})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			has := map[string]bool{}
			for _, tool := range append(task.Tools, task.Checks...) {
				has[tool.Name] = true
			}
			for tool := range set.All() {
				// Names of one word are also words.
				if strings.Contains(tool.Name, "_") && !has[tool.Name] && strings.Contains(task.System, tool.Name) {
					t.Errorf("the prompt of %s names %s, which it does not have:\n%s", name, tool.Name, task.System)
				}
			}
		}
	}
}

// TestWordsForEveryKindOfModel holds everything that a model is sent at the start
// of a job to tools that it can call, for every shipped agent, kind of model, way
// of calling and mode. An external agent has none of ours: it gets a word to say,
// or is refused before it costs anything.
func TestWordsForEveryKindOfModel(t *testing.T) {
	cat, set := load(t)
	refused := 0
	for _, name := range cat.Names() {
		a, err := cat.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []struct {
			model   string
			calling executor.CallMode
		}{{"cli/claude", ""}, {"m/x", "native"}, {"m/x", "constrained"}, {"m/x", "text"}} {
			for _, mode := range executor.Modes {
				in := agents.Input{Agent: name, Prompt: "x", Model: kind.model, Mode: mode, Calling: kind.calling, Inputs: filled(a)}
				task, err := agents.Resolve(in, cat, set, agents.Env{Host: func(string) error { return nil }, Confined: func() bool { return true }})
				external := kind.model == "cli/claude"
				if err != nil {
					if refused++; !external || !strings.Contains(err.Error(), "name a model of another provider") {
						t.Errorf("%s with %s %s in mode %s: %v", name, kind.model, kind.calling, mode, err)
					}
					continue
				}
				var words []string
				for tool := range set.All() {
					has := !external && slices.ContainsFunc(task.Tools, func(x executor.Tool) bool { return x.Name == tool.Name })
					check := slices.Contains(task.Done.Checks(), tool.Name) // we run it
					if !has && !check && strings.Contains(tool.Name, "_") {
						words = append(words, tool.Name)
					}
				}
				if external || !slices.ContainsFunc(task.Tools, func(x executor.Tool) bool { return x.Name == "finish" }) {
					words = append(words, "call finish", "Call finish", "finish:", "calls")
				}
				for _, word := range words {
					if all := task.System + "\n" + task.Prompt; strings.Contains(all, word) {
						t.Errorf("%s with %s %s in mode %s is sent %q:\n%s", name, kind.model, kind.calling, mode, word, all)
					}
				}
				if signals := task.Done.Signals(); external && len(signals) > 0 && !strings.Contains(task.System, "say "+signals[0]+" on a line of its own") {
					t.Errorf("%s with %s in mode %s is not sent its word %s:\n%s", name, kind.model, mode, signals[0], task.System)
				}
			}
		}
	}
	if refused == 0 {
		t.Error("no agent is refused to a model without our tools: is the criterion of reviewer looked at?")
	}
}

// TestPlans holds every agent that can change something outside of mode plan to end there as
// planned, whatever its definition of done is, and those that only read to end done.
func TestPlans(t *testing.T) {
	cat, set := load(t)
	src, err := agents.Skeleton("made")
	if err != nil {
		t.Fatal(err)
	}
	var reads []string
	specs := map[string]*agents.DynamicAgent{}
	for _, name := range cat.Names() {
		if specs[name], err = cat.Lookup(name); err != nil {
			t.Fatal(err)
		}
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, found := strings.Cut(string(readme), "```markdown\n---\n")
	shown, _, _ = strings.Cut(shown, "```")
	if !found {
		t.Fatal("the README shows no agent")
	}
	for name, text := range map[string]string{
		"made":    src,
		"readme":  "---\n" + shown,
		"words":   "---\nname: words\ndescription: d\ntools: [shell, read_file, edit_file, write_file, run_tests, finish]\ndone: {signal: DONE}\n---\nx\n",
		"none":    "---\nname: none\ndescription: d\ntools: [write_file]\n---\nx\n",
		"tests":   "---\nname: tests\ndescription: d\ntools: [read_file, run_tests]\n---\nx\n",
		"auto":    "---\nname: auto\ndescription: d\ntools: [read_file]\nauto: [shell]\n---\nx\n",
		"spawns":  "---\nname: spawns\ndescription: d\ntools: [read_file]\nspawn: [fixer]\n---\nx\n",
		"below":   "---\nname: below\ndescription: d\ntools: [read_file]\nspawn: {agents: [supervisor], depth: 2}\n---\nx\n",
		"asks":    "---\nname: asks\ndescription: d\ntools: [read_file]\nspawn: [reviewer, planner]\n---\nx\n",
		"denied":  "---\nname: denied\ndescription: d\ntools: [read_file, write_file]\npermissions: [{tool: write_file, do: deny}]\n---\nx\n",
		"planner": "---\nname: planner\ndescription: d\nmode: plan\ntools: [read_file, write_file]\ndone: {signal: DONE}\n---\nx\n",
	} {
		a, ps := agents.Parse(name+".md", []byte(text))
		if len(ps) > 0 {
			t.Fatal(ps)
		}
		specs["file "+name] = a
	}
	for name, a := range specs {
		in := agents.Input{Spec: a, Prompt: "x", Model: "m/x", Mode: executor.ModePlan, Inputs: filled(a)}
		task, err := agents.Resolve(in, cat, set, agents.Env{Host: func(string) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		if !task.PlanOnly {
			reads = append(reads, name)
		}
	}
	slices.Sort(reads)
	want := []string{"commit_message", "diagnostic", "error_explanation", "failure-analyst", "fanout_review", "file asks", "file denied", "file made",
		"fix-supervisor", "planner", "pr_description", "recovery", "registry-auth", "researcher", "reviewer", "scout", "thinker", "title", "triager", "validator"}
	if !slices.Equal(reads, want) {
		t.Errorf("in mode plan these end done and all others planned:\n%q, want\n%q", reads, want)
	}
}

// TestSynonymsOnlyRead holds the names of other programs to tools that read: no
// synonym leads to a write, a command or a publication.
func TestSynonymsOnlyRead(t *testing.T) {
	_, set := load(t)
	for name, tool := range turn.Synonyms() {
		meant, ok := set.Lookup(tool)
		if !ok || meant.Needs&^(tools.Read|tools.Exec) != 0 || !executor.ModePlan.Allows(meant.Metadata) || meant.Safe() == tools.Unsafe {
			t.Errorf("%s stands for %s, which needs %s", name, tool, meant.Needs)
		}
		if _, is := set.Lookup(name); is {
			t.Errorf("%s is a tool itself", name)
		}
	}
}

// TestShell checks that those who change code have a shell in mode auto where
// something confines it, and nowhere else.
func TestShell(t *testing.T) {
	cat, set := load(t)
	for _, name := range []string{"builder", "debugger", "fixer", "worker"} {
		for _, c := range []struct {
			mode     executor.Mode
			confined bool
			parent   *executor.Parent
			want     bool
		}{
			{executor.ModeAuto, true, nil, true},
			{executor.ModeAuto, false, nil, false},
			{executor.ModeEdits, true, nil, false},
			{executor.ModePlan, true, nil, false},
			{executor.ModeAuto, true, &executor.Parent{}, false},
		} {
			task, err := agents.Resolve(agents.Input{Agent: name, Prompt: "x", Model: "m/x", Mode: c.mode, Parent: c.parent}, cat, set,
				agents.Env{Confined: func() bool { return c.confined }})
			if err != nil {
				t.Fatal(err)
			}
			has := slices.ContainsFunc(task.Tools, func(tool executor.Tool) bool { return tool.Name == "shell" })
			if has != c.want {
				t.Errorf("%s in mode %s, confined %t, parent %v: shell is %t", name, c.mode, c.confined, c.parent, has)
			}
		}
	}
}

// TestReadOnly holds the agents that only look to what their grants allow.
func TestReadOnly(t *testing.T) {
	cat, set := load(t)
	for name, most := range map[string]tools.Caps{"triager": tools.Read | tools.Think, "reviewer": tools.Read | tools.Exec} {
		a, err := cat.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if a.Grant == nil || *a.Grant != most {
			t.Errorf("%s grants %v, want %s", name, a.Grant, most)
		}
		own, checks, err := agents.Offer(a, set)
		if err != nil || checks.Len() > 0 {
			t.Fatal(err, checks.Names())
		}
		for tool := range own.All() {
			if !most.Has(tool.Needs) || tool.Safe() == tools.Unsafe {
				t.Errorf("%s has %s, which needs %s and is %s", name, tool.Name, tool.Needs, tool.Safe())
			}
		}
		greedy := *a
		greedy.Tools = append([]string{"write_file"}, a.Tools...)
		if _, err := agents.Resolve(agents.Input{Spec: &greedy, Prompt: "x", Model: "m/x"}, cat, set, agents.Env{}); err == nil {
			t.Errorf("%s can be given write_file in spite of its grant", name)
		}
	}
	fixer, err := cat.Lookup("fixer")
	if err != nil {
		t.Fatal(err)
	}
	own, _, err := agents.Offer(fixer, set)
	if _, has := own.Lookup("shell"); err != nil || has {
		t.Errorf("the fixer has a shell outside of mode auto: %v, %v", own.Names(), err)
	}
}

// agentSchema is the schema of agent files that ships; pkg/agents holds it to the
// reader.
func agentSchema(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("schemas/agent.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSchema keeps the schema that ships true of the agents that ship.
func TestSchema(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(agentSchema(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///agent.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("mem:///agent.json")
	if err != nil {
		t.Fatal(err)
	}
	skeleton, err := agents.Skeleton("x")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"skeleton": skeleton}
	names, err := fs.Glob(configs.Agents(), "*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := fs.ReadFile(configs.Agents(), name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
	check := func(front string) error {
		t.Helper()
		b, err := yaml.YAMLToJSON([]byte(front))
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(v)
	}
	for name, src := range files {
		if err := check(strings.Split(src, "---\n")[1]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if check("description: d\ntols: [a]\n") == nil || check("description: d\ndone: {}\n") == nil {
		t.Error("the schema takes anything")
	}
}

// TestSchemaKeys wants the schema and the reader to know the same keys.
func TestSchemaKeys(t *testing.T) {
	var schema struct {
		Properties map[string]struct {
			Properties map[string]any
		}
		Defs map[string]struct {
			Properties map[string]any
		} `json:"$defs"`
	}
	if err := json.Unmarshal(agentSchema(t), &schema); err != nil {
		t.Fatal(err)
	}
	known := func(src string) string {
		t.Helper()
		_, ps := agents.Parse("x.md", []byte("---\n"+src+"\n---\nx"))
		if len(ps) != 1 {
			t.Fatalf("%s has problems %v", src, ps)
		}
		return strings.TrimPrefix(ps[0].Hint, "known are ")
	}
	for src, props := range map[string]any{
		"zzzzzzzzz: 1":                schema.Properties,
		"limits: {zzzzzzzzz: 1}":      schema.Properties["limits"].Properties,
		"options: {zzzzzzzzzzzzz: 1}": schema.Properties["options"].Properties,
		"done: {zzzzzzzzz: 1}":        schema.Defs["criterion"].Properties,
	} {
		b, err := json.Marshal(props)
		if err != nil {
			t.Fatal(err)
		}
		var keys map[string]any
		if err := json.Unmarshal(b, &keys); err != nil {
			t.Fatal(err)
		}
		got := known(src)
		if n := strings.Count(got, ",") + 1; n != len(keys) {
			t.Errorf("%s: the reader knows %s, the schema %d keys", src, got, len(keys))
		}
		for key := range keys {
			if !strings.Contains(", "+got+",", ", "+key+",") {
				t.Errorf("%s: the reader does not know %s", src, key)
			}
		}
	}
}

// TestDemo wants the demonstrations broken as announced, and their scripts sound.
func TestDemo(t *testing.T) {
	for project, want := range map[string]struct {
		command      []string
		pass, fail   string
		passed, lost int
	}{
		configs.DemoGo:    {[]string{"go", "test", "-v", "./..."}, "--- PASS", "--- FAIL", 12, 2},
		configs.DemoShell: {strings.Fields(configs.DemoShellTest), "\nok ", "\nnot ok ", 6, 2},
	} {
		if _, err := script.Parse("turns.yaml", configs.DemoTurns(project)); err != nil {
			t.Error(err)
		}
		dir := t.TempDir()
		if err := configs.WriteDemo(dir, project); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), want.command[0], want.command[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off")
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%s: the tests of the demonstration pass", project)
		}
		if p, f := strings.Count(string(out), want.pass), strings.Count(string(out), want.fail); p != want.passed || f != want.lost {
			t.Errorf("%s: %d tests pass and %d fail, want %d and %d:\n%s", project, p, f, want.passed, want.lost, out)
		}
	}
}

// What a shipped agent reads of its tools names no tool that it lacks: it would be called.
func TestToolsNameToolsOfTheAgent(t *testing.T) {
	cat, set := load(t)
	for _, name := range cat.Names() {
		a, err := cat.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		has := slices.Concat(a.Tools, a.Auto)
		for _, own := range has {
			tool, ok := set.Lookup(own)
			if !ok {
				continue // of the loop
			}
			params, err := json.Marshal(tool.Input)
			if err != nil {
				t.Fatal(err)
			}
			text := tool.Description + " " + string(params)
			for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
				if _, named := set.Lookup(word); named && strings.Contains(word, "_") && !slices.Contains(has, word) {
					t.Errorf("%s: %s names %s, which it lacks", name, own, word)
				}
			}
		}
	}
}
