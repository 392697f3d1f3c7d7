package pipeline

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Whatever a step may do is known to files, JSON, descriptions and the schema.
func TestStepKinds(t *testing.T) {
	schema, err := os.ReadFile("../../../configs/schemas/pipeline.json")
	if err != nil {
		t.Fatal(err)
	}
	var keys struct {
		Defs map[string]struct{ Properties map[string]json.RawMessage } `json:"$defs"`
	}
	if err := json.Unmarshal(schema, &keys); err != nil {
		t.Fatal(err)
	}
	of := reflect.TypeFor[Step]()
	for i := range of.NumField() {
		f := of.Field(i)
		at := slices.IndexFunc(stepKinds, func(k stepKind) bool { return k.field == f.Name })
		if at < 0 {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if key == "coordinate" { // in a file it stands within onFailure
				continue
			}
			if _, ok := keys.Defs["step"].Properties[key]; !ok {
				t.Errorf("Step.%s: the schema has no %s: add it to stepSchema in schema_test.go", f.Name, key)
			}
			_, ps := Parse("p.yaml", []byte("steps: [{id: a, agent: scout, input: x, "+key+": 1}]\n"))
			if err := ps.Err(); err != nil && strings.Contains(err.Error(), "unknown key") {
				t.Errorf("Step.%s: files have no %s: add it to step in parse_step.go", f.Name, key)
			}
			continue
		}
		kind, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		text, ok := map[string]string{
			"agent": `{"id":"a","agent":"scout","input":"x"}`, "run": `{"id":"a","run":"ls"}`, "tool": `{"id":"a","tool":"git_log"}`,
			"await": `{"id":"a","await":{"signal":"go"}}`, "pipeline": `{"id":"a","pipeline":"build"}`, "parallel": `{"id":"a","parallel":[{"id":"b","run":"ls"}]}`,
		}[kind]
		if !ok || kind != stepKinds[at].key {
			t.Errorf("Step.%s is the kind %s, of which there is no example here", f.Name, kind)
			continue
		}
		var s Step
		if err := json.Unmarshal([]byte(text), &s); err != nil || !slices.Equal(s.kinds(), []string{kind}) {
			t.Errorf("%s is read as %v, %v", text, s.kinds(), err)
		}
		p, ps := Parse("p.yaml", []byte("steps: ["+text+"]\n"))
		if len(ps) > 0 || len(p.Steps) != 1 || p.Steps[0].Kind() != kind {
			t.Errorf("%s in a file: %v", text, ps)
		}
		if s.what() == nothing {
			t.Errorf("a step of kind %s is described as nothing", kind)
		}
		if !strings.Contains(string(schema), `"`+kind+`": {`) {
			t.Errorf("the schema has no %s", kind)
		}
	}
}

// A stored pipeline with anything that this program does not know is refused, wherever it stands.
func TestUnknownInPipelines(t *testing.T) {
	const text = `{"name":"p","defaults":{"context":{"each":1}},"recovery":{"agent":{"name":"r","description":"","prompt":"","done":{"signal":"OK"}}},"coordinate":{"attempts":1},"steps":[
		{"id":"a","agent":{"name":"x","description":"","prompt":"","limits":{"turns":1}},"when":{"all":[{"var":"v"}]},"retries":{"attempts":1}},
		{"id":"b","await":{"signal":"go"}},{"id":"c","pipeline":{"name":"q","steps":[{"id":"d","run":"ls","until":{"step":"d"}}]}},{"id":"e","parallel":[{"id":"f","tool":"t"}]}]}`
	if err := json.Unmarshal([]byte(`{"pipeline":`+text+`}`), new(Pinned)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, r := range text {
		if r != '{' {
			continue
		}
		n++
		if err := json.Unmarshal([]byte(`{"pipeline":`+text[:i+1]+`"future":1,`+text[i+1:]+`}`), new(Pinned)); err == nil || !strings.Contains(err.Error(), `"future"`) {
			t.Errorf("what is unknown is passed over in %.40s: %v", text[i:], err)
		}
	}
	if n < 15 {
		t.Errorf("%d objects", n)
	}
}
