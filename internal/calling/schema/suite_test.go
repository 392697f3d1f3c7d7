package schema

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSuite runs the cases of the official test suite for JSON Schema, which
// google/jsonschema-go brings along, that do without recursion and other documents.
func TestSuite(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		if os.Getenv("CI") != "" {
			t.Fatalf("the module with the suite is not there: %v", err)
		}
		t.Skip("the module with the suite is not there; go mod download fetches it")
	}
	for draft, least := range map[string]int{"draft2020-12": 800, "draft7": 500} {
		t.Run(draft, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(dir, "jsonschema", "testdata", draft, "*.json"))
			if err != nil {
				t.Fatal(err)
			}
			ran, refused := 0, 0
			for _, name := range files {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				var cases []struct {
					Description string
					Schema      json.RawMessage
					Tests       []struct {
						Description string
						Data        json.RawMessage
						Valid       bool
					}
				}
				if err := json.Unmarshal(b, &cases); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for _, c := range cases {
					// A schema without a draft is one of 2020-12, in which keywords beside a
					// reference count.
					if body, ok := strings.CutPrefix(strings.TrimSpace(string(c.Schema)), "{"); ok && draft == "draft7" && strings.TrimSpace(body) != "}" && !strings.Contains(body, `"$schema"`) {
						c.Schema = json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#",` + body)
					}
					s, err := Compile(c.Schema)
					if err != nil {
						if !strings.Contains(string(c.Schema), "ef\"") {
							t.Errorf("%s: %s: %v", filepath.Base(name), c.Description, err)
						}
						refused++
						continue
					}
					for _, test := range c.Tests {
						what := filepath.Base(name) + ": " + c.Description + ": " + test.Description
						ran++
						if faults := s.Validate(test.Data); (faults == nil) != test.Valid {
							t.Errorf("%s: %s is %v by %s, want valid=%t", what, test.Data, faults, s, test.Valid)
						}
					}
				}
			}
			t.Logf("%d tests ran, %d schemas are refused", ran, refused)
			if ran < least {
				t.Errorf("%d tests ran, want at least %d", ran, least)
			}
		})
	}
}
