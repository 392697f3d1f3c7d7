package agents_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/permit"
)

// Each limit and each field of a permission rule can be written in an agent file and
// stands in its schema.
func TestFieldsInFiles(t *testing.T) {
	text, err := os.ReadFile("../../configs/schemas/agent.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Limits      struct{ Properties map[string]json.RawMessage }
			Permissions struct {
				Items struct{ Properties map[string]json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of     reflect.Type
		schema map[string]json.RawMessage
		file   string // with a place for the key
		not    string // that files have not
		read   string // what reads the key
	}{
		{reflect.TypeFor[executor.Limits](), schema.Properties.Limits.Properties, "limits: {%s: 1}", "", "limits in parse.go"},
		{reflect.TypeFor[permit.Rule](), schema.Properties.Permissions.Items.Properties, "permissions: [{%s: 1}]", "agent", "permissions in keys.go"},
	} {
		for i := range c.of.NumField() {
			key, _, _ := strings.Cut(c.of.Field(i).Tag.Get("json"), ",")
			if key == c.not {
				continue
			}
			if c.schema[key] == nil {
				t.Errorf("%s.%s: the schema lacks %s: add it in schema_test.go", c.of, c.of.Field(i).Name, key)
			}
			_, ps := agents.Parse("x.md", []byte("---\ndescription: d\ntools: [finish]\n"+fmt.Sprintf(c.file, key)+"\n---\nWork."))
			if err := ps.Err(); err != nil && strings.Contains(err.Error(), "unknown key") {
				t.Errorf("%s.%s cannot be written in agent files: add it to %s: %v", c.of, c.of.Field(i).Name, c.read, err)
			}
		}
	}
}
