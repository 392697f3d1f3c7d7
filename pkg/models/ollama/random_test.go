package ollama_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/dev/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/dev/e2e/tinymodel"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/ollama"
)

// schemas are the schemas that random output is made to fit. Whatever could go on for
// ever is bounded.
var schemas = []string{
	`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`,
	`{"type":"object","properties":{"name":{"enum":["read_file","finish"]},"arguments":{"type":"object","properties":{"path":{"type":"string","maxLength":20}},"required":["path"]}},"required":["name","arguments"]}`,
	`{"type":"object","properties":{"s":{"type":"string","minLength":2,"maxLength":12},"b":{"type":"boolean"},"z":{"type":"null"}},"required":["s","b","z"]}`,
	`{"type":"object","properties":{"list":{"type":"array","items":{"type":"string","maxLength":5},"minItems":1,"maxItems":4}},"required":["list"]}`,
	`{"anyOf":[{"type":"object","properties":{"a":{"const":"x"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"number"}},"required":["b"]}]}`,
	`{"type":"object","properties":{"deep":{"type":"object","properties":{"er":{"type":"array","items":{"type":"object","properties":{"k":{"type":"integer"}},"required":["k"]},"maxItems":3}},"required":["er"]}},"required":["deep"]}`,
}

// beyond are faults that no grammar keeps a model from: it knows no bounds of
// numbers, it takes half of a surrogate pair, and what is a character to it but
// no UTF-8 the server drops, so that a text is shorter than it was.
var beyond = []string{"out of the range of numbers", "half a character", "want at least"}

// A model of random weights under a grammar: each answer fits its schema or
// says that it was cut or not held to it, and without a grammar its noise is read without harm.
// Ten models answer twenty times each; in make night, as many as an hour has room for.
func TestRandomModel(t *testing.T) {
	s := ollamatest.Run(t)
	more := func(seed uint64) bool { return seed <= 10 }
	if testenv.Night() {
		begun := time.Now()
		more = func(uint64) bool { return time.Since(begun) < time.Hour }
	}
	m := open(t, ollama.Config{BaseURL: s.URL, IdleTimeout: time.Minute, Think: "off"})
	answers, cut, refused, unbound := 0, 0, 0, 0
	for seed := uint64(1); more(seed); seed++ {
		ollamatest.Create(t, s.URL, "noise", tinymodel.Random(seed, 4096), tinymodel.Head())
		for round := 0; round < 20 && more(seed); round++ {
			text := schemas[(int(seed)+round)%len(schemas)]
			req := ask("noise", "Say something, "+time.Duration(round).String())
			req.Options.MaxTokens = 300
			grammar := round%4 != 3
			if grammar {
				req.Output = json.RawMessage(text)
			} else {
				req.Tools = tools
			}
			r, err := m.Generate(t.Context(), req, nil)
			var e *llm.Error
			switch {
			case errors.As(err, &e):
				if refused++; e.Kind == llm.BadRequest {
					t.Fatalf("seed %d, %s: %v", seed, text, err)
				}
				continue
			case err != nil:
				t.Fatalf("seed %d: %v", seed, err)
			}
			if answers++; r.Stop == llm.StopLength {
				cut++
				continue
			}
			if !grammar {
				for _, c := range r.Message.Calls {
					if c.Name != "get_weather" && c.Name != "read_file" {
						t.Errorf("seed %d: call %+v", seed, c)
					}
				}
				continue
			}
			fit, err := schema.Compile(json.RawMessage(text))
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(r.Notes, ollama.Unbound) {
				unbound++
				continue
			}
			faults := fit.Validate(json.RawMessage(r.Message.Text))
			if len(faults) > 0 && slices.ContainsFunc(beyond, func(w string) bool { return strings.Contains(faults[0].String(), w) }) {
				refused++ // we say so, whatever the grammar let through
				continue
			}
			if len(faults) > 0 {
				t.Errorf("seed %d, %s: %q: %v", seed, text, r.Message.Text, faults)
			}
		}
	}
	t.Logf("%d answers, %d of them cut, %d typed errors, %d not held to the schema and said so", answers, cut, refused, unbound)
	if cut+unbound > answers/2 {
		t.Errorf("%d answers, %d of them cut", answers, cut)
	}
}
