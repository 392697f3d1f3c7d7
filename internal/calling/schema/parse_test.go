package schema

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for doc, want := range map[string]string{
		` {"a": "b\nc", "n": -12, "l": [1, true, false, null, {}], "o": {"x": []}} `: `{"a":"b\nc","n":-12,"l":[1,true,false,null,{}],"o":{"x":[]}}`,
		`{"":"é\ud83d\ude00"}`: `{"":"é😀"}`,
		`1.50`:                 `1.50`, // numbers keep their spelling
	} {
		if n, faults := parse([]byte(doc)); faults != nil || n.String() != want {
			t.Errorf("%s is read as %s %v, want %s", doc, n, faults, want)
		}
	}
	for _, doc := range []string{``, `{`, `{"a"}`, `{"a":1,}`, `[1,]`, `01`, `-`, `tru`, `truex`, `{"a":1} {}`, "\"a\nb\"", `"\x"`, `"\ud800"`, `{1:2}`,
		`{"a" "b"}`, `[1 2]`, "\f1", "\"\xff\"", strings.Repeat("[", 70) + strings.Repeat("]", 70)} {
		if n, faults := parse([]byte(doc)); n != nil || len(faults) != 1 {
			t.Errorf("%q is read as %s %v, want one fault", doc, n, faults)
		}
	}
	for _, doc := range []string{`{"a":1,"a":2}`, `1e9999`} {
		if n, faults := parse([]byte(doc)); n == nil || len(faults) != 1 {
			t.Errorf("%q is read as %s %v, want a value with one fault", doc, n, faults)
		}
	}
}

// Faults behind a colon are named by where they are, without what has them.
func TestFaultList(t *testing.T) {
	if got := FaultList([]Fault{{"key", "is empty"}, {"", "cannot be read"}}); got != "key is empty; the value cannot be read" {
		t.Error(got)
	}
}
