package textcall

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/llm"
)

func FuzzRead(f *testing.F) {
	for _, s := range samples {
		f.Add(s.in, uint8(7), s.family == Kimi)
	}
	f.Fuzz(func(t *testing.T, in string, at uint8, kimi bool) {
		o := Options{Offered: offered}
		if kimi {
			o.Family = Kimi
		}
		want := shown(o, in)
		n := min(int(at), len(in))
		if got := shown(o, in[:n], in[n:]); got != want {
			t.Errorf("%q, split at %d: %s\nwant %s", in, n, got, want)
		}
		found := Read(in, o)
		for _, c := range found.Calls {
			var args map[string]json.RawMessage
			if !slices.ContainsFunc(offered, func(s llm.ToolSpec) bool { return s.Name == c.Name }) || json.Unmarshal(c.Args, &args) != nil || args == nil {
				t.Errorf("%q: call %+v", in, c)
			}
		}
		if len(found.Calls) == 0 && found.Thinking == "" && !harmonic(in) && found.Text != in && strings.TrimSpace(found.Text) != strings.TrimSpace(in) && !strings.Contains(in, "hink") && !strings.Contains(in, "hought") && !strings.Contains(in, "HINK") && !strings.Contains(in, "<|close|>") && !strings.Contains(in, "<|open|>") && !strings.Contains(in, "<|end_of_msg|>") {
			t.Errorf("%q became %q", in, found.Text)
		}
	})
}

func FuzzLenient(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x\u00e9\ud83d\ude00",true,null],"b":{}}`, `{'a':'b',}`, "{\"a\":\"x\ny\"} // c", `{a:None,b:(1,2)}`, `[+1,.5,1.]`, `"\d"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		v, _, err := parseLenient(in)
		if err == nil {
			if out := v.Append(nil); !json.Valid(out) {
				t.Fatalf("%q became %q", in, out)
			}
		}
		if !json.Valid([]byte(in)) {
			return
		}
		if err == errDeep {
			return
		}
		// What is valid stays as it is, byte for byte, and no part of it passes
		// for a whole, other than a number.
		if err != nil || !bytes.Equal(v.Append(nil), bytes.TrimSpace([]byte(in))) {
			t.Fatalf("%q: %v", in, err)
		}
		if in = strings.TrimSpace(in); in[0] == '{' || in[0] == '[' || in[0] == '"' {
			for i := range len(in) {
				if _, _, err := parseLenient(in[:i]); err == nil && strings.TrimSpace(in[:i]) != in {
					t.Fatalf("%q passes for %q", in[:i], in)
				}
			}
		}
	})
}

func TestLenient(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{` {"a" : 12345678901234567890} `, `{"a" : 12345678901234567890}`},
		{`{"a":1,}`, `{"a":1}`},
		{`['a', "b",]`, `["a","b"]`},
		{`{a: True, b_2: None}`, `{"a":true,"b_2":null}`},
		{"{\"a\": \"x\n\ty\"}", `{"a":"x\n\ty"}`},
		{"{\"a\": 1 // one\n, /* two */ \"b\": [1]}", `{"a":1,"b":[1]}`},
		{`"\d+\.\'"`, `"\\d+\\.'"`},
		{`"\ud83d\ude00\ud83d"`, "\"\\ud83d\\ude00\\ud83d\""},
		{`'\ud83d\ude00\u00e9'`, `"😀é"`},
		{`(1, .5, +2, 3.)`, `[1,0.5,2,3]`},
		{`{"a": (1), "b": ("x"), "c": (1,)}`, `{"a":1,"b":"x","c":[1]}`},
		{"\ufeff{\u3000\"a\":\u200b1}\u200d", `{"a":1}`},
		{"[{\"a\":1} {\"b\":2}]", `[{"a":1},{"b":2}]`},
		{"\"\"\"a\"b\nc\"\"\"", `"a\"b\nc"`},
	} {
		v, _, err := parseLenient(c.in)
		if err != nil || string(v.Append(nil)) != c.want {
			t.Errorf("%s: %v, %v, want %s", c.in, v, err, c.want)
		}
	}
	for _, in := range []string{`{"a":1`, `{"a":`, `{"a"`, `[1,2`, `"abc`, `{"a":"b\`, `{"a":"\u12`, `[tru`, `[1`, `/* x`, `{'a': 'b`, ``} {
		if _, _, err := parseLenient(in); err != errEnd {
			t.Errorf("%s: %v, want that it ends too early", in, err)
		}
	}
	for _, in := range []string{`{"a":"b"c"}`, `{"a" "b"}`, `[1 2]`, `{1:2}`, `1e`, `--1`, `{} {}`, `nope`, strings.Repeat("[", 100)} {
		if _, _, err := parseLenient(in); err == nil || err == errEnd {
			t.Errorf("%s: %v, want that it is wrong", in, err)
		}
	}
}

// Reading text that is made to be slow takes time in proportion to its size, in one piece and byte
// by byte. The bound is far above the time of a linear reader and far below that of a quadratic
// one.
func TestLinear(t *testing.T) {
	const size = 64 << 10
	pieces := []string{
		"<tool_call>", "<tool_call>{", `<tool_call>{"name":"f","arguments":{"s":"`, "<function=f>", "<function=f>\n<parameter=s>\n", "</parameter>", "<parameter=s>",
		"<think>", "</think>\n", "<think>a</think>\n", "```\n", "`", "[TOOL_CALLS]f[ARGS]{", "<arg_key>a</arg_key><arg_value>", "[f(", "{", "[", "f(a=", "<",
		"<|channel|>", "<|channel|>a<|message|>b", "<|start|>assistant", "call:f{", "<|tool_call>call:f{a:[", "<escape>", "<｜tool▁call▁begin｜>", "/*", "\n", " ",
		`<tool_call>{"name":"f","arguments":{"s" 1}}`, `<tool_call>{"name":"f","arguments":{}}</tool_call>`, `<invoke name="f">`,
		"<tool_call>f<arg_key>s</arg_key><arg_value>x</arg_value>",
		"{\"name\":\"f\",\"arguments\":{}}\nx\n", "x\n{\"name\":\"f\",\"arguments\":{\"s\":\"", "```json\n{\"name\":\"f\"\n", "`f`` \n", "f(a", "\"f\": ", "a</think>b", "to=f", "]<]minimax[>[<a>", "<invoke name=\"f\"><s>",
	}
	for _, head := range []string{"", "<tool_call>", "<function=f><parameter=s>", "<think>", "<|channel|>commentary to=functions.f<|message|>", `<minimax:tool_call><invoke name="f"><parameter name="s">`, "<tool_call>f<arg_key>s</arg_key><arg_value>"} {
		for _, p := range pieces {
			in := head + strings.Repeat(p, size/len(p))
			begun := cpuTime(t)
			Read(in, Options{Offered: offered, Family: Kimi})
			r := New(Options{Offered: offered})
			for i := 0; i < len(in); i += 16 {
				r.Write(in[i:min(i+16, len(in))])
			}
			r.Close(true)
			if took := cpuTime(t) - begun; took > 5*time.Second {
				t.Errorf("%q and 64 kB of %q take %s", head, p, took)
			} else if took > 400*time.Millisecond {
				t.Logf("%q and 64 kB of %q take %s", head, p, took)
			}
		}
	}
}

// cpuTime returns the CPU time of this process, which does not depend on the load of the machine.
func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
