package schema

import (
	"reflect"
	"strings"
	"testing"
)

// usual must be read quickly, odd by the decoder.
var usual = []string{`{}`, ` {"a": "b\nc", "n": -12, "l": [1, true, false, null, {}], "o": {"x": []}} `, `[]`, `"a"`, `0`, `true`, `{"":"é\ud83d\ude00"}`}

var odd = []string{``, `{`, `{"a"}`, `{"a":1,}`, `{"a":1,"a":2}`, `[1,]`, `01`, `-`, `1.5`, `1e3`, `1e9999`, `12345678901234567890`, `tru`, `truex`, `{"a":1} {}`,
	"\"a\nb\"", `"\x"`, `{1:2}`, `{"a" "b"}`, `[1 2]`, "\f1", strings.Repeat("[", 70) + strings.Repeat("]", 70)}

func TestQuick(t *testing.T) {
	for _, doc := range usual {
		if quick([]byte(doc)) == nil {
			t.Errorf("%s was left to the decoder", doc)
		}
		same(t, doc)
	}
	for _, doc := range odd {
		if n := quick([]byte(doc)); n != nil {
			t.Errorf("%s was read as %s, want it left to the decoder", doc, n)
		}
	}
}

// same reports what is read quickly but not as the decoder reads it.
func same(t *testing.T, doc string) {
	t.Helper()
	got := quick([]byte(doc))
	if got == nil {
		return
	}
	if want, faults := slow([]byte(doc)); faults != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s is read as %s, want %s %v", doc, got, want, faults)
	}
}

func FuzzQuick(f *testing.F) {
	for _, doc := range append(usual, odd...) {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		if _, faults := parse([]byte(doc)); faults == nil {
			same(t, doc)
		} else if n := quick([]byte(doc)); n != nil && strings.ToValidUTF8(doc, "") == doc && !loneSurrogate([]byte(doc)) {
			t.Errorf("%s is read as %s, want %v", doc, n, faults)
		}
	})
}
