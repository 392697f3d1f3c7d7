package configs_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/llm/script"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/std"
)

var update = flag.Bool("update", false, "write the generated files")

func load(t testing.TB) (*agents.Catalog, *tools.Set) {
	t.Helper()
	set, err := tools.NewSet(std.All()...)
	if err != nil {
		t.Fatal(err)
	}
	cat, ps := agents.Load(agents.Layer{Name: "built in", FS: configs.Agents()})
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	return cat, set
}

// TestAgents holds what ships to its own lint: not a note, and no more than
// 2,000 tokens of every turn.
func TestAgents(t *testing.T) {
	cat, set := load(t)
	if ps := cat.Lint(set); len(ps) > 0 {
		t.Error(ps)
	}
	for _, name := range []string{"builder", "debugger"} {
		a, err := cat.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		task, err := agents.Resolve(agents.Input{Agent: name, Prompt: "x", Model: "m/x", Dir: "/home/someone/project"}, cat, set, agents.Defaults{})
		if err != nil {
			t.Fatal(err)
		}
		bytes := len(task.System)
		for _, tool := range task.Tools {
			bytes += len(tool.Name) + len(tool.Description) + len(tool.Input)
		}
		tokens := int(float64(bytes) / 3.3)
		t.Logf("%s: about %d tokens, %d by its own weight", name, tokens, a.Weight(set))
		if tokens >= 2000 {
			t.Errorf("%s takes about %d tokens of every turn, want less than 2,000", name, tokens)
		}
	}
}

// TestSchema keeps the schema that ships as generated, and true of the agents
// that ship.
func TestSchema(t *testing.T) {
	want := agents.FileSchema()
	if *update {
		if err := os.WriteFile("schemas/agent.schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(configs.AgentSchema(), want) {
		t.Error("schemas/agent.schema.json is stale; run go test ./configs -update")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(want))
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
	if err := json.Unmarshal(agents.FileSchema(), &schema); err != nil {
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

// TestDemo wants the demonstration broken as announced, and its script sound.
func TestDemo(t *testing.T) {
	if _, err := script.Parse("turns.yaml", configs.DemoTurns()); err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	if err := configs.WriteDemo(dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-v", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("the tests of the demonstration pass")
	}
	if p, f := strings.Count(string(out), "--- PASS"), strings.Count(string(out), "--- FAIL"); p != 12 || f != 2 {
		t.Errorf("%d tests pass and %d fail, want 12 and 2:\n%s", p, f, out)
	}
}
