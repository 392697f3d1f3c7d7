package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/adroit-run/adroit/pkg/llm"
)

func read1(r io.Reader) (out []string, err error) {
	ev := NewEvents(r, nil)
	for {
		e, err := ev.Next()
		if err != nil {
			return out, err
		}
		out = append(out, e.Name+"="+string(e.Data))
	}
}

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", 10<<20)
	for _, c := range []struct{ label, in, want string }{
		{"plain", "data: a\n\ndata: b\n\n", "=a|=b"},
		{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", "=a|=b"},
		{"cr", "data: a\r\rdata: b\r\r", "=a|=b"},
		{"no space", "data:a\n\ndata:  b\n\n", "=a|= b"},
		{"comments", ": hi\n\n:\ndata: a\n: in between\n\n", "=a"},
		{"several lines", "data: a\ndata: b\ndata\n\n", "=a\nb\n"},
		{"byte order mark", "\ufeffdata: a\n\n", "=a"},
		{"mark later", "data: a\n\n\ufeffdata: b\n\n", "=a|=b"},
		{"no blank lines", "event: x\ndata: {\"a\":\"}{\\\"\"}\nevent: y\ndata: {}\ndata: [DONE]\n", "x={\"a\":\"}{\\\"\"}|y={}|=[DONE]"},
		{"one behind the other", "data: {}{\"a\":{}} , {}[DONE]\n\n", "={}|={\"a\":{}}|={}|=[DONE]"},
		{"a field in between", "data: {}data: {}\n", "={}|={}"},
		{"a list", "[{},\r\n{\"a\":[{}]}]", "={}|={\"a\":[{}]}"},
		{"a list over lines", "\ufeff[\n{\n\"a\": 1\n}\n,\n\n{}\n]\n", "={\n\"a\": 1\n}|={}"},
		{"a list that is none of objects", "data: [1, 2]\n\n", "=[1, 2]"},
		{"an object over lines", "data: {\n \"a\": {}\n}\n\ndata: {}\n\n", "={\n \"a\": {}\n}|={}"},
		{"broken", "data: {\"a\":{]}\n\ndata: {}\n\n", "={\"a\":{]}|={}"},
		{"the rest", "data: {}{\"a\n", "={}|={\"a"},
		{"empty", "data:\n\ndata: {}\n\n", "=|={}"},
		{"odd fields", "DATA: a\n\n  data: {}\n", "=a|={}"},
		{"name", "event: error\ndata: a\n\ndata: b\n\n", "error=a|=b"},
		{"name without data", "event: error\n\ndata: b\n\n", "=b"},
		{"other fields", "id: 1\nretry: 5\nfoo: x\nbar\ndata: a\n\n", "=a"},
		{"no last blank line", "data: a\n\ndata: b", "=a|=b"},
		{"done twice", "data: [DONE]\n\ndata: [DONE]\n\n", "=[DONE]|=[DONE]"},
		{"nothing", "", ""},
		{"10 MB", "data: " + long + "\n\n", "=" + long},
	} {
		t.Run(c.label, func(t *testing.T) {
			for label, r := range map[string]io.Reader{"at once": strings.NewReader(c.in), "in halves": iotest.HalfReader(strings.NewReader(c.in)),
				"in bytes": iotest.OneByteReader(strings.NewReader(c.in))} {
				if len(c.in) > 1<<20 && label == "in bytes" {
					continue
				}
				got, err := read1(r)
				if s := strings.Join(got, "|"); s != c.want || err != io.EOF {
					t.Errorf("%s: %.100q, %v, want %.100q", label, s, err, c.want)
				}
			}
		})
	}
}

func TestStreamLimits(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("data: "), neverEnding('x'))
	if _, err := read1(endless); !errors.Is(err, ErrLine) {
		t.Errorf("an endless line: %v", err)
	}
	many := strings.NewReader(strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 17))
	if _, err := read1(many); !errors.Is(err, ErrLine) {
		t.Errorf("an endless event: %v", err)
	}
	broken := io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if got, err := read1(broken); len(got) != 1 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken stream: %q, %v", got, err)
	}
}

type neverEnding byte

func (b neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

func TestOnlyDataTouches(t *testing.T) {
	for in, want := range map[string]bool{": a\n\n": false, ":\n: b\n\n": false, "\n\r\n": false, "data: a\n\n": true, ": c\n\ndata: a\n\n": true} {
		touched := false
		ev := NewEvents(strings.NewReader(in), func() { touched = true })
		for {
			if _, err := ev.Next(); err != nil {
				break
			}
		}
		if touched != want {
			t.Errorf("%q touches: %t", in, touched)
		}
	}
}

func FuzzEvents(f *testing.F) {
	for _, s := range []string{"data: a\r\n\r\n", "\ufeffdata:a\rdata:b\r\r", ": c\n\nevent: error\ndata\n\n", "data: a"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := read1(bytes.NewReader(in))
		if err != io.EOF {
			t.Fatalf("error %v", err)
		}
		split, err := read1(iotest.OneByteReader(bytes.NewReader(in)))
		if err != io.EOF || fmt.Sprint(whole) != fmt.Sprint(split) {
			t.Errorf("%q is %q at once and %q byte by byte", in, whole, split)
		}
	})
}

func TestCalls(t *testing.T) {
	type d struct {
		index          any
		id, name, args string
	}
	for _, c := range []struct {
		label  string
		deltas []d
		want   string
	}{
		{"by index", []d{{0, "a", "f", ""}, {0, "", "", `{"x":`}, {1, "b", "g", `{}`}, {0, "", "", `1}`}}, `a f {"x":1};b g {}`},
		{"by id", []d{{nil, "a", "f", `{"x":`}, {nil, "b", "g", `{`}, {nil, "a", "", `1}`}, {nil, "b", "", `}`}}, `a f {"x":1};b g {}`},
		{"to the last", []d{{nil, "a", "f", `{"x":`}, {nil, "", "", `1}`}}, `a f {"x":1}`},
		{"no index, no id", []d{{nil, "", "f", `{}`}, {nil, "", "g", `{}`}}, ` f {}; g {}`},
		{"all index 0", []d{{0, "a", "f", `{}`}, {0, "b", "g", `{}`}}, `a f {};b g {}`},
		{"all one id", []d{{0, "a", "f", `{}`}, {1, "a", "g", `{}`}}, `a f {};a g {}`},
		{"all one id, no index", []d{{nil, "a", "f", `{"x":2}`}, {nil, "a", "f", `{"x":1}`}}, `a f {"x":2};a f {"x":1}`},
		{"name repeated", []d{{0, "a", "f", ""}, {0, "a", "f", `{"x"`}, {0, "a", "f", `:1}`}}, `a f {"x":1}`},
		{"name in parts", []d{{0, "a", "read_", ""}, {0, "", "file", `{}`}}, `a read_file {}`},
		{"far index", []d{{1 << 30, "a", "f", `{}`}, {-1, "b", "g", `{}`}}, `a f {};b g {}`},
		{"nothing", []d{{nil, "", "", ""}, {3, "", "", ""}, {0, "a", "f", `{}`}, {nil, "", "", ""}}, `a f {}`},
		{"other indexes", []d{{0, "a", "f", ""}, {1, "", "", `{"x":`}, {2, "", "", `1}`}, {3, "b", "g", ""}, {4, "", "", `{}`}}, `a f {"x":1};b g {}`},
		{"other ids", []d{{0, "a", "f", `{"x"`}, {0, "b", "f", `:1}`}}, `a f {"x":1}`},
		{"empty first", []d{{0, "a", "f", `{}`}, {0, "", "", `{"x":`}, {0, "", "", `1}`}}, `a f {"x":1}`},
		{"empty first, named", []d{{nil, "a", "f", `{}`}, {nil, "a", "f", `{"x":1}`}}, `a f {"x":1}`},
		{"empty last", []d{{0, "a", "f", `{"x":`}, {0, "", "", `1}`}, {0, "", "", `{}`}, {0, "", "", `null`}}, `a f {"x":1}`},
		{"again", []d{{0, "a", "f", `{"x":1}`}, {0, "a", "f", `{"x":1}`}}, `a f {"x":1}`},
		{"again in pieces", []d{{0, "a", "f", `{"x":`}, {0, "", "", `1}`}, {0, "a", "f", ``}, {0, "", "", `{"x":`}, {0, "", "", `1}`}}, `a f {"x":1}`},
		{"again, spaced", []d{{0, "a", "f", `{"x":1}`}, {1, "a", "f", `{"x": 1}`}}, `a f {"x":1}`},
		{"whole behind pieces", []d{{0, "a", "f", `{"x":`}, {0, "", "", `1}`}, {0, "", "", `{"x":1}`}}, `a f {"x":1}`},
		{"all so far", []d{{0, "a", "f", `{"x`}, {0, "a", "f", `{"x":`}, {0, "a", "f", `{"x":1}`}}, `a f {"x":1}`},
		{"twice on purpose", []d{{0, "a", "f", `{"x":1}`}, {1, "b", "f", `{"x":1}`}}, `a f {"x":1};b f {"x":1}`},
		{"its beginning first", []d{{0, "a", "f", ""}, {1, "", "", `{"x": "y"{"x": "y", "z": 1}`}}, `a f {"x": "y", "z": 1}`}, // sgl-project/sglang 23071
		{"a brace first", []d{{0, "a", "f", `{{"x":1}`}}, `a f {"x":1}`},
		{"nested and cut", []d{{0, "a", "f", `{"x":{"x":1}`}}, `a f {"x":{"x":1}`},
		{"late id", []d{{0, "", "f", `{`}, {0, "a", "", `}`}}, `a f {}`},
	} {
		var calls Calls
		for _, d := range c.deltas {
			p := Piece{ID: d.id, Name: d.name, Args: d.args}
			if d.index != nil {
				p.Index = fmt.Sprint(d.index)
			}
			calls.Add(p)
		}
		var got []string
		for _, k := range calls.List() {
			got = append(got, fmt.Sprintf("%s %s %s", k.ID, k.Name, k.Args))
		}
		if s := strings.Join(got, ";"); s != c.want {
			t.Errorf("%s: %s, want %s", c.label, s, c.want)
		}
	}
}

func TestTidy(t *testing.T) {
	nested := strings.Repeat(`{"a":`, 10_001) + "1" + strings.Repeat("}", 10_001)
	for _, c := range []struct {
		label, name, in string
		cut             bool
		malformed       string
	}{
		{"fine", "f", `{"a":1}`, true, ""},
		{"none", "f", ``, false, ""},
		{"cut before the first byte", "f", ``, true, "token limit"},
		{"cut", "f", `{"a":"b`, true, "token limit"},
		{"broken", "f", `{"a":}`, false, "not valid JSON"},
		{"two values", "f", `{} {}`, false, "not valid JSON"},
		{"deep", "f", nested, false, "not valid JSON"},
		{"no name", " ", `{}`, false, "names no tool"},
	} {
		got := Tidy([]llm.Call{{Name: c.name, Args: json.RawMessage(c.in)}}, nil, c.cut)[0]
		if (c.malformed == "") != (got.Malformed == "") || !strings.Contains(got.Malformed, c.malformed) {
			t.Errorf("%s: malformed is %q", c.label, got.Malformed)
		}
		if !json.Valid(got.Args) {
			t.Errorf("%s: args are %s", c.label, got.Args)
		}
		if got.Malformed != "" && (string(got.Args) != "{}" || !strings.HasPrefix(c.in, got.Raw)) {
			t.Errorf("%s: args %s, raw %.50q", c.label, got.Args, got.Raw)
		}
	}
	// Only the last call can be the one that was cut.
	if got := Tidy([]llm.Call{{Name: "functions.read_file:12"}}, nil, false)[0].Name; got != "read_file" {
		t.Errorf("the numbered name is %q", got)
	}
	got := Tidy([]llm.Call{{Name: "f"}, {Name: "f", Args: json.RawMessage(`{`)}}, nil, true)
	switch {
	case got[0].Malformed != "":
		t.Errorf(`got[0].Malformed is %v, want "": %+v`, got[0].Malformed, got)
	case got[1].Malformed == "":
		t.Errorf(`got[1].Malformed is "": %+v`, got)
	case got[0].ID != "call_1":
		t.Errorf(`got[0].ID is %v, want "call_1": %+v`, got[0].ID, got)
	case got[1].ID != "call_2":
		t.Errorf(`got[1].ID is %v, want "call_2": %+v`, got[1].ID, got)
	}
}

func TestObject(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":[1]}`: `{"a":[1]}`, `[]`: `{}`, `null`: `{}`, `{"a":1e400}`: `{}`, ``: `{}`, `{"a":"[[{\"["}`: `{"a":"[[{\"["}`,
		`{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`: `{}`,
	} {
		if got := string(Object(json.RawMessage(in))); got != want {
			t.Errorf("Object(%.40s) = %.40s", in, got)
		}
	}
}

func TestUnusable(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:8000/v1": "", "https://[::1]:443": "", "http://gpu": "", "https://host.example./v1?key=x": "",
		"127.0.0.1:8000": "cannot be read", "localhost:8000": "must start", "ftp://h": "must start", "http:///v1": "names no host", "http://:8000": "names no host",
		"http://127.0.0.1:": "names no port", "http://127.0.0.1:/v1": "names no port", "http://h:0": "the port 0", "http://h:65536/v1": "the port 65536", "http://h:x": "cannot be read",
	} {
		if got := Unusable(address); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
