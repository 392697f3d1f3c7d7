package machine

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
)

func TestListText(t *testing.T) {
	var b strings.Builder
	listText(&b, []adroit.ModelInfo{
		{Model: "ollama/qwen3:8b", Size: 5 << 30, ModelCapabilities: adroit.ModelCapabilities{Tools: "native", Can: []string{"tools", "thinking"},
			Context: 40960, Window: 8192, Parameters: "8.2B", Quantisation: "Q4_K_M"}},
		{Model: "openai/NAME", Note: "OPENAI_API_KEY is not set"},
	})
	want := "ollama/qwen3:8b  8.2B Q4_K_M, 5368 MB, calls tools natively, thinking, window 8,192 of 40,960\n" +
		"openai/NAME      OPENAI_API_KEY is not set\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

func TestCheckText(t *testing.T) {
	var b strings.Builder
	checkText(&b, &adroit.ModelReport{Model: "ollama/a", Answer: "ready\x1b[31m", TookMS: 1500, Window: 4096, Given: 2048,
		Drive: &adroit.ModelCapabilities{Tools: "text"}, Calling: []string{"calls tools: text"}})
	want := "ollama/a answers in 1.5s: ready\\x1b[31m\ncalls tools as text\ncalls tools: text\nwindow: 4096 asked, 2048 given\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

// A part is announced once, then at each tenth of it.
func TestProgress(t *testing.T) {
	var b strings.Builder
	show := progress(&b)
	for _, p := range []adroit.PullProgress{{Status: "manifest"}, {Status: "manifest"}, {Status: "a", Total: 100}, {Status: "a", Total: 100, Done: 5}, {Status: "a", Total: 100, Done: 31}} {
		show(p)
	}
	if want := "manifest\na  0% of 100 bytes\na  30% of 100 bytes\n"; b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}
