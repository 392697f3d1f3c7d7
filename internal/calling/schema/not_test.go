package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/calling/schema"
)

// A fault about a forbidden value quotes the schema's description.
func TestNotSaysWhy(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","not":{"description":"end it without a full stop","pattern":"\\.$"}},"b":{"not":{"type":"number"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	faults := s.Validate(json.RawMessage(`{"a":"x.","b":3}`))
	if len(faults) != 2 || !strings.HasSuffix(faults[0].String(), "which is not allowed: end it without a full stop") || !strings.HasSuffix(faults[1].String(), "which is not allowed") {
		t.Errorf("%v", faults)
	}
	if faults := s.Validate(json.RawMessage(`{"a":"x","b":"y"}`)); faults != nil {
		t.Errorf("%v", faults)
	}
}
