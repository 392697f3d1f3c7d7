package ollama

import (
	"context"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/adroit-run/adroit/internal/calling/textcall"
	"github.com/adroit-run/adroit/pkg/llm"
)

// thinking is what a model makes of a wish to think.
type thinking int

const (
	thinksUnknown thinking = iota
	thinksNever
	thinksOrNot  // on or off
	thinksLevels // by the level requested
)

// thinking returns what the model supports, asking the server the first time.
func (m *model) thinking(ctx context.Context, name string) thinking {
	k := &m.known
	k.mu.Lock()
	t, ok := k.thinks[name]
	k.mu.Unlock()
	if ok {
		return t
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	info, err := (&Client{&m.end}).Show(ctx, name)
	switch {
	case err != nil:
		return thinksUnknown
	case !info.Can("thinking"):
		t = thinksNever
	case strings.Contains(info.Template, ".ThinkLevel") || textcall.Detect(info.Template, name, info.Family) == textcall.Harmony:
		t = thinksLevels
	default:
		t = thinksOrNot
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.thinks == nil {
		k.thinks = map[string]thinking{}
	}
	k.thinks[name] = t
	return t
}

// effort says it in the words that the model has: a level, or whether to think
// at all, which low means not to. Where it cannot be said, what else would be
// sent is, and why.
func (m *model) effort(ctx context.Context, name string, e llm.Effort, otherwise *api.ThinkValue) (*api.ThinkValue, string) {
	switch m.thinking(ctx, name) {
	case thinksLevels:
		return &api.ThinkValue{Value: string(e)}, ""
	case thinksOrNot:
		return &api.ThinkValue{Value: e != llm.EffortLow}, ""
	case thinksNever:
		return otherwise, "the model does not think"
	}
	return otherwise, "the server does not say whether the model thinks"
}

func effortOmitted(e llm.Effort, why string) string {
	return "effort " + string(e) + " is left out: " + why
}
