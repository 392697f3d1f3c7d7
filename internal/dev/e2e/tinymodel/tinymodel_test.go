package tinymodel

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"
	"text/template"
)

func TestTapeIsReproducible(t *testing.T) {
	a, b := Tape(4096), Tape(4096)
	if !bytes.Equal(a, b) || !bytes.HasPrefix(a, []byte("GGUF\x03\x00\x00\x00")) {
		t.Error("two tapes differ or are no GGUF files")
	}
	if len(a) > 64<<10 {
		t.Errorf("a tape has %d bytes", len(a))
	}
	t.Logf("sha256 %x", sha256.Sum256(a))
}

func TestTokenTextsDiffer(t *testing.T) {
	texts, types := vocabulary()
	seen := map[string]bool{}
	for _, s := range texts {
		if seen[s] {
			t.Errorf("two tokens are %q", s)
		}
		seen[s] = true
	}
	if len(types) != len(texts) || texts[endOfTurn] != "<|im_end|>" || texts[padding] != "<|pad|>" {
		t.Error("the special tokens are not where they should be")
	}
}

func TestHalf(t *testing.T) {
	for x, want := range map[float32]uint16{0: 0, 1: 0x3c00, -2: 0xc000, 65504: 0x7bff, 1e6: 0x7c00, 1e-9: 0, 0.1: 0x2e66} {
		if got := half(x); got != want {
			t.Errorf("half(%g) is %#x, want %#x", x, got, want)
		}
	}
}

func TestTemplateEndsInATape(t *testing.T) {
	text, err := Template([]Turn{{Say: "one `tick` <tool_call>"}, {Say: "no", If: "21`C", Then: "yes"}})
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := template.New("").Funcs(template.FuncMap{"json": func(any) string { return "{}" }}).Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	type message struct {
		Role, Content, Thinking string
		ToolCalls               []struct{}
	}
	for _, c := range []struct {
		messages []message
		says     string
	}{
		{[]message{{Role: "user", Content: "q"}}, "one `tick` <tool_call>"},
		{[]message{{Role: "assistant"}, {Role: "tool", Content: "21`C"}}, "yes"},
		{[]message{{Role: "assistant"}, {Role: "tool", Content: "20C"}}, "no"},
	} {
		var b strings.Builder
		if err := tmpl.Execute(&b, map[string]any{"System": "s", "Tools": nil, "Messages": c.messages}); err != nil {
			t.Fatal(err)
		}
		_, end, _ := strings.Cut(b.String(), "<|im_start|>assistant\n"+c.says+"<|im_end|>")
		if c.messages[0].Role == "assistant" {
			_, end, _ = strings.Cut(b.String(), "</tool_response><|im_end|>\n<|im_start|>assistant\n"+c.says+"<|im_end|>")
		}
		if want := strings.Repeat("<|pad|>", Period-1-Tokens(c.says)); end != want {
			t.Errorf("after %q come %d bytes, want %d", c.says, len(end), len(want))
		}
	}
	if _, err := Template([]Turn{{Say: strings.Repeat("x", Period)}}); err == nil {
		t.Error("a script longer than the tape was taken")
	}
}

// What the server looks for in an order of its own must not overlap.
func TestWordsDoNotOverlap(t *testing.T) {
	special := slices.Concat(control, tags, Words)
	if texts, _ := vocabulary(Words...); len(texts) > 1<<bits {
		t.Errorf("%d tokens are more than %d bits can number", len(texts), bits)
	}
	for _, a := range special {
		for _, b := range special {
			for n := 1; n < len(a) && len(a) == len(b); n++ {
				if a[n:] == b[:len(b)-n] && a != b {
					t.Errorf("%q may begin in %q", b, a)
				}
			}
		}
	}
}

func TestTokens(t *testing.T) {
	for text, want := range map[string][2]int{ // with words, and in bytes
		"":                             {0, 0},
		"x<tool_call>\x00</tool_call>": {4, 4},
		" the":                         {1, 4},
		" there":                       {1, 6},
		" the{":                        {2, 5},
		"te":                           {1, 2},
		" thexte":                      {3, 7},
	} {
		if got := [2]int{Words.Tokens(text), Tokens(text)}; got != want {
			t.Errorf("%q has %v tokens, want %v", text, got, want)
		}
	}
}
