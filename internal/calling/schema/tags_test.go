package schema

import (
	"encoding/json"
	"strings"
	"testing"
)

// Descriptions arrive whole, wherever the field is.
func TestDescriptionsAreWhole(t *testing.T) {
	type inner struct {
		A string `json:"a" jsonschema:"description=One, two, and three.,minLength=1"`
	}
	type Embedded struct {
		E string `json:"e" jsonschema:"required,description=In an embedded struct, too"`
	}
	type in struct {
		Embedded
		Path  string           `json:"path" jsonschema:"description=File to count, relative to the workspace."`
		Kind  string           `json:"kind" jsonschema:"enum=x,enum=y,description=Which\\, of those, it is"`
		Tag   string           `json:"tag" description:"A tag of its own, with a comma"`
		List  []inner          `json:"list"`
		Named map[string]inner `json:"named,omitempty"`
		One   *inner           `json:"one,omitempty" jsonschema:"description=May be left out, then nothing happens"`
		Bare  string
	}
	s, err := Infer[in]()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"File to count, relative to the workspace.", "Which, of those, it is", "A tag of its own, with a comma",
		"In an embedded struct, too", "May be left out, then nothing happens"} {
		if !strings.Contains(string(s.JSON()), `"description":"`+want+`"`) {
			t.Errorf("%q is not in %s", want, s.JSON())
		}
	}
	if n := strings.Count(string(s.JSON()), `"One, two, and three."`); n != 3 {
		t.Errorf("the description of an inner field is there %d times, want 3: %s", n, s.JSON())
	}
	var v struct {
		Properties map[string]struct{ Enum []string }
	}
	if err := json.Unmarshal(s.JSON(), &v); err != nil || len(v.Properties["kind"].Enum) != 2 {
		t.Errorf("enum: %v, %v", v.Properties["kind"].Enum, err)
	}
}

// A deprecated property is accepted, but not offered.
func TestDeprecated(t *testing.T) {
	type in struct {
		Path string `json:"path"`
		Max  int    `json:"max,omitempty" jsonschema:"deprecated,description=How many"`
	}
	s, err := Infer[in]()
	if err != nil {
		t.Fatal(err)
	}
	if n, m := len(s.Params()), len(s.Offered()); n != 2 || m != 1 || strings.Contains(s.Signature(), "max") {
		t.Errorf("%d properties, %d offered; %s", n, m, s.Signature())
	}
	if faults := s.Validate(json.RawMessage(`{"path":"a","max":2}`)); faults != nil {
		t.Errorf("max is refused: %v", faults)
	}
	if s.Validate(json.RawMessage(`{"path":"a","max":"x"}`)) == nil {
		t.Error("max is not judged")
	}
}

// An unknown word in a tag is refused with its place.
func TestUnknownWordsInTags(t *testing.T) {
	type free struct {
		A string `json:"a" jsonschema:"the text"`
	}
	type misspelt struct {
		A string `json:"a" jsonschema:"desciption=the text"`
	}
	type pattern struct {
		A string `json:"a" jsonschema:"pattern=^a{1,3}$"`
	}
	for name, infer := range map[string]func() (*Schema, error){"the text": Infer[free], "desciption=the text": Infer[misspelt], "3}$": Infer[pattern]} {
		if _, err := infer(); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), ".A") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
