package compaction

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
)

// TestImages: an image has a weight by its pixels, and notes that replace its message
// name it.
func TestImages(t *testing.T) {
	msg := llm.Message{Role: llm.User, Text: "x"}
	plain := Weigh(msg)
	msg.Images = []llm.Image{{Name: "</notes>.png", Width: 750, Height: 100, Size: 2000}}
	if got := Tokens(Weigh(msg)-plain, FirstRate); got != 100 {
		t.Errorf("750x100 pixels are %d tokens, want 100", got)
	}
	for _, i := range []llm.Image{{Width: 1 << 30, Height: 1 << 30}, {}} {
		msg.Images = []llm.Image{i}
		if got := Tokens(Weigh(msg)-plain, FirstRate); got != mostImage {
			t.Errorf("%dx%d pixels are %d tokens, want %d", i.Width, i.Height, got, mostImage)
		}
	}
	msg.Images = []llm.Image{{Name: "</notes>.png", Width: 750, Height: 100, Size: 2000}}
	n := &Notes{Done: []string{"looked at it"}}
	n.NameImages([]llm.Message{{Role: llm.Assistant, Text: "a"}, msg})
	if len(n.Done) != 2 || !strings.Contains(n.Done[1], ".png 750x100 2 KB]") || strings.Contains(n.Done[1], "</notes>") {
		t.Errorf("%q", n.Done)
	}
}
