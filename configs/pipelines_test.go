package configs_test

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows/pipeline"
)

// TestPipelines wants the shipped pipelines to be without any problem, and to
// satisfy the schema that editors use.
func TestPipelines(t *testing.T) {
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	cat := agents.Load(agents.Layer{Name: "built in", FS: configs.Agents()})
	all := pipeline.Load(agents.Layer{Name: "built in", FS: configs.Pipelines()})
	for _, p := range append(all.Problems(), all.Lint(pipeline.Known{Tools: set, Agents: cat})...) {
		t.Error(p)
	}
	if got := strings.Join(all.Names(), " "); got != "feature pr_checks review" {
		t.Errorf("the pipelines are %s", got)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(configs.PipelineSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///pipeline.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("mem:///pipeline.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all.Names() {
		src, err := fs.ReadFile(configs.Pipelines(), name+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		doc, serr := plainyaml.Parse(string(src), 1)
		if serr != nil {
			t.Fatal(serr)
		}
		root := doc.Read(func(_ plainyaml.Place, _, words string) { t.Error(words) })
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(root.JSON()))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
