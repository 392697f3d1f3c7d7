package jsontext_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/jsontext"
)

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"a<b && c>d": `"a<b && c>d"`,
		"\x00\n\"\\": `"\u0000\n\"\\"`,
		"\xff":       `"\ufffd"`,
		"":           `""`,
	} {
		if got := string(jsontext.Quote(in)); got != want {
			t.Errorf("Quote(%q) is %s, want %s", in, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for object, want := range map[string]string{`{"b": {"x": 1}, "a": [], "b": 2}`: "[b a]", "{}": "[]", "null": "[]", "[1]": "[]", `{"a": 1`: "[a]", `{"a"`: "[]"} {
		if got := fmt.Sprint(jsontext.Names(json.RawMessage(object))); got != want {
			t.Errorf("the members of %s are %s, want %s", object, got, want)
		}
	}
}

func TestMarshalErrors(t *testing.T) {
	if b, err := jsontext.Marshal(math.Inf(1)); err == nil {
		t.Errorf("infinity is %s", b)
	}
}

// Each line is either passed on or answered once, whatever it is.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", " \r", "{", "[]", "null", `{"id":1,"method":"a"}`, `{"id":"a","method":""}`, `{"id":1e400}`, `{"params":{},"id":{}}`, "\xff", `{"method":"` + strings.Repeat("x", 300)} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		sent := strings.Split(a+"\n"+b, "\n")
		answers, passed, want := 0, 0, 0
		l := jsontext.Lines{R: bufio.NewReaderSize(strings.NewReader(a+"\n"+b), 16), Max: 256, Answer: func(b []byte) error {
			answers++
			var m struct{ Error struct{ Message string } }
			if err := json.Unmarshal(b, &m); err != nil || m.Error.Message == "" {
				t.Errorf("%s: %v", b, err)
			}
			return nil
		}}
		for _, s := range sent {
			if len(bytes.TrimSpace([]byte(s))) > 0 || len(s) >= 256 {
				want++
			}
		}
		for {
			line, err := l.Next()
			if err != nil {
				break
			}
			if line != nil {
				passed++
			}
			if line != nil && !json.Valid(line) {
				t.Errorf("passed on: %s", line)
			}
		}
		if answers+passed != want {
			t.Errorf("of %q %d lines are passed on and %d answered", sent, passed, answers)
		}
	})
}

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a\"\\\n\t\r\x00\x1f\x7f", "é☀𝄞", "\xff\xfe", "a\xc3", "\u2028</script>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := jsontext.Quote(s)
		var got string
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%q is no JSON: %s", s, b)
		}
		var want strings.Builder
		for _, r := range s { // ranging replaces what is not UTF-8
			want.WriteRune(r)
		}
		if got != want.String() || !utf8.Valid(b) {
			t.Errorf("%q becomes %q", s, got)
		}
	})
}
