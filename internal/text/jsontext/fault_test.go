package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/text/jsontext"
)

// The message names line and key, without Go's terms.
func TestFault(t *testing.T) {
	type inner struct {
		Args []string          `json:"args"`
		Env  map[string]string `json:"env"`
	}
	var v struct {
		inner
		Name string             `json:"name"`
		Part struct{ N int }    `json:"part"`
		List []struct{ B bool } `json:"list"`
	}
	for text, want := range map[string]string{
		"{\n\"name\": 5}":                            "line 2: name: it must be text, and is a number",
		"{\"name\": \"x\",\n\n\"args\": \"x\"}":      "line 3: args: it must be a list, and is text",
		"{\"part\":\n{\"N\": true}}":                 "line 2: part.N: it must be a whole number, and is true or false",
		"{\n\"env\": {\n\"A\": 5}}":                  "line 2: env: it must be text, and is a number",
		"{\"list\": [\n{\"b\": true},\n{\"b\": 1}]}": "line 3: list.B: it must be true or false, and is a number",
		"{\n\"nam\": \"x\"}":                         "line 2: there is no key \"nam\"",
		"[]":                                         "line 1: it must be keys with values, and is a list",
		"{\n\n,":                                     "line 3: it is no JSON: invalid character ',' looking for beginning of object key string",
		"{\n":                                        "line 2: it is no JSON: unexpected end of JSON input",
	} {
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		err := json.Unmarshal([]byte(text), &v)
		if err == nil {
			err = d.Decode(&v)
		}
		if err == nil {
			t.Fatalf("%q is read", text)
		}
		if got := jsontext.Fault([]byte(text), err).Error(); got != want || strings.Contains(got, "Go ") {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
