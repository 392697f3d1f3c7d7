// Package route decides which model answers: it resolves a role or a pattern to models, reports
// which failures another model can make good, and hedges a request that gets no answer.
//
//	for i, m := range chain {
//		resp, err := m.Generate(ctx, req, emit)
//		if err == nil || i == len(chain)-1 || !route.Passes(err) {
//			return resp, err
//		}
//	}
//
// It keeps no state and calls only the models it is given. It does not retry: whoever runs the
// request does that first.
package route

import (
	"errors"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/text/match"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Passes reports whether a failure is the model's or its server's, so that
// another model may do better. What is wrong with the request, with a key or
// with a script stays wrong, and must be seen.
func Passes(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && Kind(e.Kind)
}

// Kind is like Passes, for the kind of an error.
func Kind(k llm.ErrorKind) bool {
	switch k {
	case llm.Unreachable, llm.Overloaded, llm.RateLimit, llm.Timeout, llm.Cut, llm.Garbled, llm.NoModel, llm.Unsupported, extagent.NoResult, extagent.NoProgram:
		return true
	}
	return false
}

// Windows states how many tokens the context windows of models have, by
// provider/model or by a pattern in which * stands for any text. The longest
// pattern decides.
type Windows map[string]int

// An Ask asks a model's server for the context window that the model has there, and the largest
// one it can have; zero means that the server does not state it.
type Ask func(model string) (tokens, most int)

// Of gives the window of a model: the one that is configured, else the one that its
// server states. Where neither does, it is a guess by the family in the name, and no
// more than the model can have. A nil ask asks nobody.
func (w Windows) Of(model string, ask Ask) (tokens int, guess bool) {
	if n, ok := match.Pick(w, model); ok {
		return n, false
	}
	if extagent.IsAgent(model) {
		return 0, false // it keeps its conversation itself
	}
	most := 0
	if ask != nil {
		if tokens, most = ask(model); tokens > 0 {
			return tokens, false
		}
	}
	if tokens = family(model); most > 0 {
		tokens = min(tokens, most)
	}
	return tokens, true
}

// family guesses the window of a model from its name.
func family(model string) int {
	_, name, _ := strings.Cut(strings.ToLower(model), "/")
	if strings.HasPrefix(model, "script:") {
		name = "script"
	}
	name = name[strings.LastIndexByte(name, '/')+1:]
	for _, f := range families {
		if strings.HasPrefix(name, f.prefix) {
			return f.window
		}
	}
	return unknownWindow
}

// unknownWindow is the context window assumed for an unknown model, in tokens: a common default of
// servers for local models. A guess that is too low costs a few summaries; one that is too high
// silently loses text where a server truncates the request instead of refusing it.
const unknownWindow = 32_768

// families lists the context windows of the vendors' hosted models as of late 2025, by prefix of
// the model's name.
var families = []struct {
	prefix string
	window int
}{
	{"gpt-4.1", 1_000_000}, {"gpt-5", 400_000}, {"gpt-4o", 128_000}, {"gpt-4-turbo", 128_000}, {"gpt-oss", 128_000}, {"gpt-4", 8192},
	{"o1", 200_000}, {"o3", 200_000}, {"o4", 200_000},
	{"claude", 200_000}, {"gemini", 1_000_000}, {"grok", 128_000},
	{"mistral", 128_000}, {"codestral", 128_000}, {"devstral", 128_000}, {"deepseek", 128_000}, {"kimi", 128_000}, {"glm", 128_000},
	{"llama-4", 128_000}, {"llama-3.1", 128_000}, {"llama-3.3", 128_000},
	{"script", 128_000},
}
