package parts_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A rule about paths holds for a tool only if the tool says which of its
// arguments are paths: none that ships may leave one out.
func TestPathsAreJudged(t *testing.T) {
	seen := 0
	for _, tool := range parts.Tools() {
		var schema struct{ Properties map[string]json.RawMessage }
		if err := json.Unmarshal(tool.Input.JSON(), &schema); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"path", "paths", "dir", "target", "file"} {
			if _, has := schema.Properties[name]; has && tool.Needs&(tools.Read|tools.Write) != 0 {
				seen++
				if !slices.Contains(tool.Paths, name) {
					t.Errorf("%s does not say that its argument %s is a path", tool.Name, name)
				}
			}
		}
		for _, name := range []string{"patch", "blocks"} {
			if _, has := schema.Properties[name]; has && tool.Touches == nil {
				t.Errorf("%s does not say which files its %s is about", tool.Name, name)
			}
		}
		if _, has := schema.Properties["command"]; has && tool.Command != "command" {
			t.Errorf("%s does not say that its argument command is shell text", tool.Name)
		}
	}
	if seen < 8 {
		t.Errorf("saw %d arguments that are paths; is this all that ships?", seen)
	}
}

func TestTouches(t *testing.T) {
	patch := `{"patch":"*** Begin Patch\n*** Update File: a/b.go\n*** Move to: deploy/c.go\n@@ x\n-a\n+b\n*** Add File: d.go\n+x\n*** End Patch\n"}`
	if got := edit.Patch.Touches(json.RawMessage(patch)); !slices.Equal(got, []string{"a/b.go", "deploy/c.go", "d.go"}) {
		t.Errorf("the patch is about %v", got)
	}
	blocks := `{"blocks":"cart.go\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"}`
	if got := edit.Blocks.Touches(json.RawMessage(blocks)); !slices.Equal(got, []string{"cart.go"}) {
		t.Errorf("the blocks are about %v", got)
	}
}
