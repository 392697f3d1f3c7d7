package tools

import (
	"context"
	"encoding/json"
	"flag"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestDescribeGolden(t *testing.T) {
	type read struct {
		Path string `json:"path" jsonschema:"description=File to read\\, relative to the workspace."`
		From int    `json:"from,omitempty" jsonschema:"minimum=1,description=First line."`
	}
	type span struct {
		Line int    `json:"line" jsonschema:"minimum=1,description=Counts from 1."`
		Text string `json:"text"`
	}
	type change struct {
		Mode  string `json:"mode" jsonschema:"enum=append,enum=replace"`
		Edits []span `json:"edits"`
	}
	set := mustSet(t,
		New(Metadata{Name: "read_file", Description: "Read a file. Lines are numbered.", Category: "code", Needs: Read, UsageHint: "Read before\nyou edit.",
			Examples: []Example{{Note: "the first lines", Args: json.RawMessage(`{ "path": "a.go" }`)}}},
			func(context.Context, *Env, read) (string, error) { return "", nil }),
		New(Metadata{Name: "edit_file", Description: "Change a file.", Category: "code", Needs: Write, Optionality: Optional},
			func(context.Context, *Env, change) (string, error) { return "", nil }),
		New(Metadata{Name: "publish", Description: "Publish the post.", Category: "publish", Needs: Publish, Optionality: Conditional, When: "the user asked for it.",
			Consumes: []string{"post"}, Produces: []string{"url"}},
			func(context.Context, *Env, struct{}) (string, error) { return "", nil }),
		New(Metadata{Name: "zoom", Description: "Of no category."}, func(context.Context, *Env, in) (string, error) { return "", nil }),
	)
	for name, brief := range map[string]func(string) bool{"summary": func(string) bool { return true }, "full": nil} {
		got := set.Describe(brief)
		if again := mustSet(t, set.Without().tools...).Describe(brief); again != got {
			t.Errorf("%s: not the same for an equal set", name)
		}
		dirtest.Golden(t, *update, filepath.Join("testdata", "section_"+name+".md"), []byte(got))
	}
}
