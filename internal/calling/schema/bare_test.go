package schema_test

import (
	"testing"

	"github.com/adroit-run/adroit/internal/calling/schema"
)

func TestBare(t *testing.T) {
	for full, want := range map[string]string{
		`{"type":"object","title":"T","properties":{"path":{"type":"string","description":"A file.","minLength":1},"description":{"type":"string","description":"x","enum":["title","b"]}},"required":["path"],"additionalProperties":false}`: `{"type":"object","properties":{"path":{"type":"string","minLength":1},"description":{"type":"string","enum":["title","b"]}},"required":["path"],"additionalProperties":false}`,
		`{"anyOf":[{"type":"null","description":"none"},{"type":"array","items":{"type":"integer","description":"n","maximum":9007199254740993}}]}`:                                                                                           `{"anyOf":[{"type":"null"},{"type":"array","items":{"type":"integer","maximum":9007199254740993}}]}`,
		`{"const":{"description":"kept"},"default":3}`: `{"const":{"description":"kept"}}`,
		`true`: `true`,
	} {
		if got, err := schema.Bare([]byte(full)); err != nil || string(got) != want {
			t.Errorf("%s becomes\n%s, want\n%s; %v", full, got, want, err)
		}
	}
	if _, err := schema.Bare([]byte(`{`)); err == nil {
		t.Error("half a schema is taken")
	}
}
