package schema

import (
	"encoding/json"
	"testing"
)

func TestSampleSatisfies(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string","minLength":6},"b":{"type":"integer","minimum":3},"c":{"type":"string"}},"required":["a","b"]}`: `{"a":"axxxxx","b":3}`,
		`{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"type":"array","minItems":2,"items":{"type":"boolean"}}},"required":["a","b"]}`:          `{"a":"x","b":[true,true]}`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^[0-9]{4}$"}},"required":["a"]}`:                                                     ``,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"string"}]},"b":{}},"required":["a","b","z"]}`:                                 `{"a":null,"b":"b","z":"z"}`,
	} {
		s, err := Compile(json.RawMessage(schema))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(s.Sample()); got != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}
