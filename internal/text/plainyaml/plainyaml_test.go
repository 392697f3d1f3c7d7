package plainyaml_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/text/plainyaml"
)

// TestRead wants values as JSON, and places counted from the line that the text
// has in its file.
func TestRead(t *testing.T) {
	doc, serr := plainyaml.Parse("a: {b: [1, 2.50, yes, true, ~]}\nc: |\n  x\n  y\n", 10)
	if serr != nil {
		t.Fatal(serr)
	}
	root := doc.Read(func(_ plainyaml.Place, _, words string) { t.Error(words) })
	if got, want := string(root.JSON()), `{"a":{"b":[1,2.5,"yes",true,null]},"c":"x\ny\n"}`; got != want {
		t.Errorf("read %s, want %s", got, want)
	}
	at := map[string]plainyaml.Place{}
	root.Places("", at)
	if at["a.b.1"] != plainyaml.At(10, 12) || at["c"].Line != 11 {
		t.Errorf("places are %v", at)
	}
}

// TestReferences: they are followed where a caller wants it, if they are few and lead somewhere.
func TestReferences(t *testing.T) {
	tens := "[" + strings.Repeat("*a, ", 9) + "*a]"
	for src, want := range map[string]string{
		"a: &x {b: [1, &y z]}\nc: [*x, *y]\n": `{"a":{"b":[1,"z"]},"c":[{"b":[1,"z"]},"z"]}`,
		"a: &a [*a]\n":                        "",
		"a: *b\nb: &b 1\n":                    "",
		"a: & more\n":                         "",
		"z: &a [1,1,1,1,1,1]\ny: &a " + tens + "\nx: &a " + tens + "\nw: " + tens: "",
	} {
		doc, serr := plainyaml.Parse(src, 1)
		if serr != nil && want == "" { // it leads to nothing
			continue
		}
		got, refused := "", false
		if root := doc.WithReferences().Read(func(plainyaml.Place, string, string) { refused = true }); !refused {
			got = string(root.JSON())
		}
		if got != want {
			t.Errorf("%q is %q, want %q", src, got, want)
		}
	}
}

// TestString checks that a scalar that is read as text is the text that was written.
func TestString(t *testing.T) {
	doc, serr := plainyaml.Parse("a: 1.10\nb: 007\nc: True\nd: ' x '\ne: 0x1F\nf: -1_000\ng: [1.20, x]\nh: 2.50 # of it\n", 1)
	if serr != nil {
		t.Fatal(serr)
	}
	d := plainyaml.Decoder{Report: func(p plainyaml.Place, _, words string) { t.Errorf("%v: %s", p, words) }}
	got := map[string]string{}
	fields := map[string]func(*plainyaml.Node){"g": func(n *plainyaml.Node) { got["g"] = strings.Join(d.Names(n, "g"), " ") }}
	for _, k := range strings.Fields("a b c d e f h") {
		fields[k] = func(n *plainyaml.Node) {
			var s string
			d.String(n, k, &s)
			got[k] = s
		}
	}
	d.Fields(doc.Read(d.Report), "", fields)
	if want := map[string]string{"a": "1.10", "b": "007", "c": "True", "d": "x", "e": "0x1F", "f": "-1_000", "g": "1.20 x", "h": "2.50"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestRefused checks that YAML that is not plain, or too large, is reported with its place.
func TestRefused(t *testing.T) {
	for src, want := range map[string]string{
		"a: &x 1\nb: *x\n":                       "3:4 anchors, references, tags and special numbers are not used here 4:4 anchors, references, tags and special numbers are not used here",
		"a: !!binary x\n":                        "3:4 anchors, references, tags and special numbers are not used here",
		"- a\n":                                  "3:1 it is a list, not keys with values",
		"a: 1\n---\nb: 1\n":                      "3:1 there is more than one YAML document",
		"a: {":                                   "3:4 is not valid YAML",
		"a: " + strings.Repeat("[", 101):         "3:104 nests more than 100 deep",
		"a:\n" + strings.Repeat("- ", 101) + "x": "4:201 nests more than 100 deep",
		"a:\n" + strings.Repeat("  b: 1\n", 5001):                       "5004:1 has more than 5000 keys in one mapping",
		strings.Repeat("b:\n- x\n", 5001):                               "10003:1 has more than 5000 keys in one mapping",
		"a:\n" + strings.Repeat("- x\n", 5001) + "b: 1\n":               "",
		"a: |\n" + strings.Repeat("  b: 1\n", 9999):                     "",
		"a:\n" + strings.Repeat("  - b: 1\n    c: |-\n      x\n", 5001): "",
	} {
		var got []string
		doc, serr := plainyaml.Parse(src, 3)
		if serr != nil {
			got = append(got, fmt.Sprintf("%d:%d %s", serr.Line, serr.Col, serr.Message))
		} else {
			doc.Read(func(p plainyaml.Place, _, words string) {
				got = append(got, fmt.Sprintf("%d:%d %s", p.Line, p.Col, words))
			})
		}
		if !strings.HasPrefix(strings.Join(got, " "), want) {
			t.Errorf("%.20q is refused with %q, want %q", src, got, want)
		}
	}
}
