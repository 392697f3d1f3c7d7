package jsontext_test

import (
	"encoding/json"
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

func TestMarshalErrors(t *testing.T) {
	if b, err := jsontext.Marshal(math.Inf(1)); err == nil {
		t.Errorf("infinity is %s", b)
	}
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
