package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/calling/schema"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestSchemas: each tool can be called, whatever generator wrote its schema, and what is not
// checked before a call is named. testdata/schemas.json has the forms of zod-to-json-schema, zod 4,
// pydantic, schemars, victools, .NET, Go, OpenAPI and PHP, and mistakes that servers make: a call
// of each that must pass, and mostly one that must not.
func TestSchemas(t *testing.T) {
	type server struct {
		Name            string
		Schema, OK, Bad json.RawMessage
		Missing         bool
		Left            bool // something is not checked
	}
	b, err := os.ReadFile("testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []server
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	var many, deep strings.Builder
	for i := range 400 {
		fmt.Fprintf(&many, `,"p%d":{"type":"integer","description":"The field number %d of the form that the office wants."}`, i, i)
	}
	deep.WriteString(strings.Repeat(`{"type":"object","properties":{"n":`, 200) + "{}" + strings.Repeat("}}", 200))
	list = append(list,
		server{Name: "400 properties", Schema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}` + many.String() + `}}`), OK: json.RawMessage(`{"q":"a","p1":1}`), Bad: json.RawMessage(`{"p399":"x"}`), Left: true},
		server{Name: "200 KB", Schema: json.RawMessage(`{"type":"object","required":["q"],"properties":{"q":{"type":"string","description":"` + strings.Repeat("long ", 40_000) + `"}}}`), OK: json.RawMessage(`{"q":"a"}`), Bad: json.RawMessage(`{}`), Left: true},
		server{Name: "a long enum", Schema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}` + many.String() + `,"z":{"enum":["` + strings.Repeat("v", 300<<10) + `"]}}}`), OK: json.RawMessage(`{"q":"a"}`), Left: true},
		server{Name: "200 levels", Schema: json.RawMessage(deep.String()), OK: json.RawMessage(`{"n":{"n":{}}}`), Bad: json.RawMessage(`{"n":1}`), Left: true},
	)
	for _, c := range list {
		var input any
		if !c.Missing && json.Unmarshal(c.Schema, &input) != nil {
			t.Fatalf("%s: the schema is not JSON", c.Name)
		}
		d, why := define(&sdk.Tool{Name: "t", InputSchema: input})
		if why != "" {
			t.Errorf("%s cannot be used: %s", c.Name, why)
			continue
		}
		if got := d.Unchecked != nil; got != c.Left {
			t.Errorf("%s: not checked is %q", c.Name, d.Unchecked)
		}
		s, err := schema.Compile(d.Input)
		if err == nil {
			s, err = s.ForArguments()
		}
		if err != nil || len(d.Input) > maxSchemaBytes {
			t.Errorf("%s: %d bytes, %v", c.Name, len(d.Input), err)
			continue
		}
		if faults := s.Validate(c.OK); faults != nil {
			t.Errorf("%s refuses %s: %v", c.Name, c.OK, faults)
		}
		if c.Bad != nil && s.Validate(c.Bad) == nil {
			t.Errorf("%s accepts %s", c.Name, c.Bad)
		}
	}
}
