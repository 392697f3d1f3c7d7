package turn

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
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
	old := []llm.Message{{Role: llm.Assistant, Calls: []llm.Call{{ID: "1", Name: "f"}}}, {Role: llm.Tool, CallID: "1", Text: "[image]", Images: msg.Images}, {Role: llm.Assistant}, {Role: llm.Assistant}}
	tr := NewTrimmer(old, func(string) (tools.Tool, bool) { return tools.Tool{}, false }, nil)
	before := tr.Weight
	if tr.Drop(); tr.Dropped != 1 || tr.Messages[1].Images != nil || tr.Weight >= before || tr.Weight != Weigh(tr.Messages...) || old[1].Images == nil {
		t.Errorf("%d are dropped, weight %d of %d: %+v", tr.Dropped, tr.Weight, before, tr.Messages)
	}
	n := &Notes{Done: []string{"looked at it"}}
	n.NameImages([]llm.Message{{Role: llm.Assistant, Text: "a"}, msg})
	if len(n.Done) != 2 || !strings.Contains(n.Done[1], ".png 750x100 2 KB]") || strings.Contains(n.Done[1], "</notes>") {
		t.Errorf("%q", n.Done)
	}
}
