package ollama

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/calling/textcall"
	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// known caches facts about the server's models. It is safe for concurrent use.
type known struct {
	mu       sync.Mutex
	families map[string]textcall.Family
	opened   map[string]string // the ends of thoughts that templates open
	windows  map[loading]int
	thinks   map[string]thinking
}

type loading struct {
	model  string
	window int
}

// sideTimeout bounds a side question to the server: an answer waits for it.
const sideTimeout = 5 * time.Second

// family returns how the model writes calls. The first call for a model asks
// the server for its template.
func (k *known) family(ctx context.Context, end *transport.Endpoint, model string) textcall.Family {
	k.mu.Lock()
	f, ok := k.families[model]
	k.mu.Unlock()
	if ok {
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, sideTimeout)
	defer cancel()
	info, err := (&Client{end}).Show(ctx, model)
	f = textcall.Detect(info.Template, model, info.Family)
	if err != nil {
		return f // from its name; the template may be had next time
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.families == nil {
		k.families = map[string]textcall.Family{}
	}
	k.families[model] = f
	return f
}

// unopened finds out whether it is the model's template that opens the thought
// of which only the end came.
func (k *known) unopened(ctx context.Context, end *transport.Endpoint, model string) {
	k.mu.Lock()
	_, ok := k.opened[model]
	k.mu.Unlock()
	if ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sideTimeout)
	defer cancel()
	info, err := (&Client{end}).Show(ctx, model)
	if err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.opened == nil {
		k.opened = map[string]string{}
	}
	k.opened[model] = textcall.OpensThought(info.Template)
}

// opens is the end of the thought that the model's template opens in the
// prompt, "" if it does not, or is not known yet.
func (k *known) opens(model string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.opened[model]
}

// window returns the context window that the server reports for the model
// when this one was requested. Call it after an answer, while the model is
// loaded.
func (k *known) window(ctx context.Context, end *transport.Endpoint, model string, window int) int {
	key := loading{model, window}
	k.mu.Lock()
	given, ok := k.windows[key]
	k.mu.Unlock()
	if ok {
		return given
	}
	ctx, cancel := context.WithTimeout(ctx, sideTimeout)
	defer cancel()
	list, err := (&Client{end}).Running(ctx)
	if err != nil {
		return window
	}
	given = window
	for _, l := range list {
		if l.Context > 0 && (l.Name == model || l.Name == model+":latest") {
			given = min(window, l.Context)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.windows == nil {
		k.windows = map[loading]int{}
	}
	k.windows[key] = given
	return given
}

// verify finds out the window that an answer was really given in.
func (m *model) verify(ctx context.Context, a *answer) {
	a.window = a.req.Options.Window
	if a.window <= 0 {
		return
	}
	if given := m.known.window(ctx, &m.end, a.req.Model, a.window); given < a.window {
		a.Notes = append(a.Notes, fmt.Sprintf("the server loaded the model with a window of %d tokens instead of %d", given, a.window))
		a.window = given
	}
}

// withinThought reads calls out of the thinking that the server separated, of the families
// that call tools there.
func (m *model) withinThought(ctx context.Context, a *answer, r *llm.Response) {
	thinking := a.Thinking()
	if len(r.Message.Calls) > 0 || len(a.req.Tools) == 0 || !strings.Contains(thinking, "<|tool_call") {
		return
	}
	found := textcall.Read("<think>"+thinking+"</think>",
		textcall.Options{Family: m.known.family(ctx, &m.end, a.req.Model), Offered: a.req.Tools, Cut: r.Stop == llm.StopLength})
	if len(found.Calls) == 0 {
		return
	}
	r.Message.Thinking = found.Thinking
	r.Message.Calls = transport.Tidy(found.Calls, a.req.Messages, false)
	r.Notes = append(r.Notes, found.Notes...)
	if r.Stop == llm.StopEnd {
		r.Stop = llm.StopCalls
	}
}
