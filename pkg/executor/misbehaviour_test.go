package executor_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
)

// A misbehaviour is something that models and their servers do, in the second
// turn of a job of three, and how the job must end: with the right answer, or
// stopped for a reason that it names.
type misbehaviour struct {
	name string
	// does are the behaviours in place of the second turn. The third, a good
	// answer, follows unless last is set.
	does func(w wire) []llmtest.Behaviour
	last bool
	edit func(*executor.Task)

	seen   string   // text that the model must have seen afterwards
	ran    []string // what ran after the first turn's add {"n":1}; nothing else may
	asked  int      // requests in all; 0 means three
	wait   time.Duration
	status string // "" means done
	reason string
	code   string
}

// says is a second turn of calls.
func says(cs ...llm.Call) func(wire) []llmtest.Behaviour {
	return func(w wire) []llmtest.Behaviour { return []llmtest.Behaviour{w.say(llmtest.Turn{Calls: cs})} }
}

// always repeats one behaviour.
func always(n int, b llmtest.Behaviour) []llmtest.Behaviour {
	return slices.Repeat([]llmtest.Behaviour{b}, n)
}

// headAndTail is a call whose first half, as streamed, is a complete one.
var headAndTail = llmtest.Turn{Text: "I will add.", Calls: []llm.Call{{ID: "c9", Name: "add", Args: json.RawMessage(`{"n":90}` + strings.Repeat(" ", 12))}}}

// inside is a number of chunks that ends a stream within the call of cut.
func inside(w wire) int {
	protocol := llmtest.OpenAI
	if w.native {
		protocol = llmtest.Ollama
	}
	chunks := (&llmtest.Exchange{Protocol: protocol, Stream: true}).Chunks(headAndTail)
	for i, c := range chunks {
		if strings.Contains(c, `n\":90`) || strings.Contains(c, `"n":90`) {
			return i + 1
		}
	}
	panic("no chunk has the call")
}

var misbehaviours = []misbehaviour{
	{name: "arguments miss the last brace", does: says(call("add", `{"n":2`)), seen: "not valid JSON"},
	{name: "arguments are prose", does: says(call("add", `add two, please`)), seen: "not valid JSON"},
	{name: "arguments are empty", does: says(call("add", ``)), seen: "add was not called"},
	{name: "argument of the wrong type", does: says(call("add", `{"n":"seven"}`)), seen: "add was not called"},
	{name: "required argument missing", does: says(call("add", `{}`)), seen: "add was not called"},
	{name: "extra argument", does: says(call("add", `{"n":2,"m":3}`)), seen: "m is not known"},
	{name: "unknown tool", does: says(call("subtract", `{"n":2}`)), seen: `there is no tool \"subtract\"; you have: add, boom, meet`},
	{name: "tool error", does: says(call("add", `{"n":-2}`)), seen: "negative amounts are not allowed", ran: []string{`add {"n":-2}`}},
	{name: "tool panic", does: says(call("boom", `{}`)), seen: "the tool crashed", ran: []string{`boom {}`}},
	{name: "empty call id", does: says(llm.Call{Name: "add", Args: json.RawMessage(`{"n":2}`)}, llm.Call{Name: "add", Args: json.RawMessage(`{"n":3}`)}), ran: []string{`add {"n":2}`, `add {"n":3}`}},
	{name: "the same call id again", does: says(llm.Call{ID: "a1", Name: "add", Args: json.RawMessage(`{"n":2}`)}, llm.Call{ID: "a1", Name: "add", Args: json.RawMessage(`{"n":3}`)}), ran: []string{`add {"n":2}`, `add {"n":3}`}},
	{name: "finish reason stop with a call", ran: []string{`add {"n":2}`}, does: func(w wire) []llmtest.Behaviour {
		return []llmtest.Behaviour{w.say(llmtest.Turn{Calls: []llm.Call{call("add", `{"n":2}`)}, Finish: "stop"})}
	}},
	{name: "empty message", seen: "neither text nor a tool call", does: func(w wire) []llmtest.Behaviour {
		return []llmtest.Behaviour{w.say(llmtest.Turn{})}
	}},
	{name: "nothing but empty messages", last: true, asked: 4, does: func(w wire) []llmtest.Behaviour {
		return always(3, w.say(llmtest.Turn{}))
	}, status: executor.Stuck, reason: "3 answers in a row with neither text nor a readable tool call"},
	{name: "call printed as text", ran: []string{`add {"n":2}`}, does: func(w wire) []llmtest.Behaviour {
		return []llmtest.Behaviour{w.say(llmtest.Turn{Text: "I add.\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"n\":2}}\n</tool_call>"})}
	}},
	{name: "thinking of which only the end comes", asked: 2, last: true, does: func(w wire) []llmtest.Behaviour {
		return []llmtest.Behaviour{w.say(llmtest.Turn{Text: "I could add.</think>The right answer."})}
	}},
	{name: "object in prose whose arguments do not fit", seen: "No tool was called: the answer ends with a call of add whose arguments do not fit (n is missing)", does: func(w wire) []llmtest.Behaviour {
		return []llmtest.Behaviour{w.say(llmtest.Turn{Text: "I add.\n{\"name\": \"add\", \"arguments\": {\"m\": 2}}"})}
	}},
	{name: "call in the middle of text", seen: "No tool was called: the answer holds a tool call in the middle of text", does: func(w wire) []llmtest.Behaviour {
		return []llmtest.Behaviour{w.say(llmtest.Turn{Text: "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"n\":2}}\n</tool_call>\nThat is how it is called."})}
	}},
	{name: "printed call of an unknown tool", seen: `calls \"subtract\", which is no tool`, does: func(w wire) []llmtest.Behaviour {
		return []llmtest.Behaviour{w.say(llmtest.Turn{Text: "<tool_call>\n{\"name\": \"subtract\", \"arguments\": {\"n\":2}}\n</tool_call>"})}
	}},
	{name: "printed call with its made-up result", seen: "[Read your calls with a repair: the model made up the result", ran: []string{`add {"n":2}`}, does: func(w wire) []llmtest.Behaviour {
		return []llmtest.Behaviour{w.say(llmtest.Turn{Text: "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"n\":2}}\n</tool_call>\n<tool_response>\n2\n</tool_response>\nIt is 2."})}
	}},
	{name: "call cut by the answer's limit", seen: "token limit", does: func(w wire) []llmtest.Behaviour {
		return []llmtest.Behaviour{w.say(llmtest.Turn{Calls: []llm.Call{call("add", `{"n":2`)}, Finish: "length"})}
	}},
	{name: "500", asked: 4, does: func(wire) []llmtest.Behaviour { return always(2, busy(500, "Retry-After-Ms", "20")) }, wait: 40 * time.Millisecond},
	{name: "429", asked: 3, does: func(wire) []llmtest.Behaviour { return always(1, busy(429, "Retry-After", "1")) }, wait: time.Second},
	{name: "503", asked: 4, does: func(wire) []llmtest.Behaviour { return always(2, busy(503, "Retry-After-Ms", "20")) }, wait: 40 * time.Millisecond},
	{name: "429 without end", asked: 6, last: true, does: func(wire) []llmtest.Behaviour { return always(5, busy(429, "Retry-After-Ms", "1")) },
		status: executor.Failed, code: "model.rate_limit", reason: "too busy"},
	{name: "the key is refused", asked: 2, last: true, does: func(wire) []llmtest.Behaviour { return always(1, busy(401)) },
		status: executor.Failed, code: "model.auth", reason: "refused the key"},
	{name: "stream cut in a call, closed cleanly", asked: 4, ran: []string{`add {"n":2}`}, does: func(w wire) []llmtest.Behaviour {
		return []llmtest.Behaviour{llmtest.CutAt(headAndTail, inside(w)), w.say(llmtest.Turn{Calls: []llm.Call{call("add", `{"n":2}`)}})}
	}},
	{name: "body cut by a reset", asked: 4, ran: []string{`add {"n":2}`}, does: func(w wire) []llmtest.Behaviour {
		return []llmtest.Behaviour{llmtest.ResetAt(headAndTail, inside(w)), w.say(llmtest.Turn{Calls: []llm.Call{call("add", `{"n":2}`)}})}
	}},
	{name: "stream always cut", asked: 6, last: true, does: func(w wire) []llmtest.Behaviour {
		return always(5, llmtest.CutAt(headAndTail, inside(w)))
	}, status: executor.Failed, code: "model.cut", reason: "ended"},
	{name: "error inside of an answer", asked: 3, does: func(w wire) []llmtest.Behaviour {
		return []llmtest.Behaviour{llmtest.ErrorInside(headAndTail, inside(w), "overloaded, try again")}
	}},
	{name: "silence in a call", asked: 3, does: func(w wire) []llmtest.Behaviour {
		return []llmtest.Behaviour{llmtest.SilentAt(headAndTail, inside(w))}
	}},
	{name: "a web page", asked: 3, does: func(wire) []llmtest.Behaviour {
		return []llmtest.Behaviour{llmtest.Raw("text/html", "<html>please log in</html>")}
	}},
	{name: "never stops, doing something else each time", last: true, asked: 5, ran: []string{`add {"n":2}`, `add {"n":3}`, `add {"n":4}`}, does: func(w wire) []llmtest.Behaviour {
		var out []llmtest.Behaviour
		for i := range 3 {
			out = append(out, w.say(llmtest.Turn{Calls: []llm.Call{call("add", fmt.Sprintf(`{"n":%d}`, i+2))}}))
		}
		// The last words are asked for without tools; a call in them is not run.
		return append(out, w.say(llmtest.Turn{Text: "Still adding.", Calls: []llm.Call{call("add", `{"n":99}`)}}))
	}, edit: func(t *executor.Task) { t.Limits.Turns = 4 }, status: executor.Limit, reason: "the limit of 4 turns"},
	{name: "never stops, doing the same", last: true, ran: slices.Repeat([]string{`add {"n":0}`}, 6), asked: 8, does: func(w wire) []llmtest.Behaviour {
		return append(always(6, w.say(llmtest.Turn{Calls: []llm.Call{call("add", `{"n":0}`)}})), w.say(llmtest.Turn{Text: "Still adding."}))
	}, status: executor.Stuck, reason: "the same call with the same result, 6 times over"},
}

// Every shape in which small models print their calls is run, or asked about
// with words on how to call.
func init() {
	for name, shape := range llmtest.Shapes {
		misbehaviours = append(misbehaviours, misbehaviour{name: "call printed " + name, ran: []string{`add {"n":2}`}, does: func(w wire) []llmtest.Behaviour {
			return []llmtest.Behaviour{w.say(llmtest.Print(shape, call("add", `{"n":2}`)))}
		}})
	}
	for name, shape := range llmtest.Unclear {
		misbehaviours = append(misbehaviours, misbehaviour{name: "call printed " + name, seen: "call it now, through the interface for tools", does: func(w wire) []llmtest.Behaviour {
			return []llmtest.Behaviour{w.say(llmtest.Print(shape, call("add", `{"n":2}`)))}
		}})
	}
}

func busy(status int, headers ...string) llmtest.Behaviour {
	return llmtest.Fail(status, `{"error":{"message":"too busy"}}`, headers...)
}

// TestMisbehaviour has every adapter meet every misbehaviour.
func TestMisbehaviour(t *testing.T) {
	for _, w := range wires {
		for _, m := range misbehaviours {
			t.Run(w.name+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				m.check(t, w)
			})
		}
	}
}

func (m misbehaviour) check(t *testing.T, w wire) {
	do := []llmtest.Behaviour{w.say(llmtest.Turn{Calls: []llm.Call{{ID: "a1", Name: "add", Args: json.RawMessage(`{"n":1}`)}}})}
	do = append(do, m.does(w)...)
	if !m.last {
		do = append(do, w.say(llmtest.Turn{Text: "The right answer."}))
	}
	h := newProbe(t, w, do...)
	start := time.Now()
	s, err := h.run(t, m.edit)
	if took := time.Since(start); took < m.wait {
		t.Errorf("it asked again after %s; the server asked for %s", took, m.wait)
	}
	if s.Outcome == nil {
		t.Fatalf("no outcome: %v", err)
	}
	want := m.status
	if want == "" {
		want = executor.Done
		if s.Outcome.Summary != "The right answer." {
			t.Errorf("answer %q", s.Outcome.Summary)
		}
	} else if stop := new(executor.StopError); !errors.As(err, &stop) || stop.Outcome.Reason == "" {
		t.Errorf("error %v says not why", err)
	}
	if o := s.Outcome; o.Status != want || !strings.Contains(o.Reason, m.reason) || m.code != "" && o.Code != m.code {
		t.Errorf("outcome %+v, want %s %s: %s", o, want, m.code, m.reason)
	}
	if got := h.calls(); !slices.Equal(got, append([]string{`add {"n":1}`}, m.ran...)) {
		t.Errorf("ran %q, want add {\"n\":1} and %q", got, m.ran)
	}
	requests := h.server.Requests()
	if asked := cmp.Or(m.asked, 3); len(requests) != asked {
		t.Errorf("%d requests, want %d", len(requests), asked)
	}
	for i, r := range requests {
		history(t, i, r.Body)
	}
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, m.seen) {
		t.Errorf("the model did not see %q:\n%s", m.seen, last)
	}
}

// TestCallsOfOneTurnMeet has four calls of one turn wait for each other, three
// turns over: they can only go on if all four run at once.
func TestCallsOfOneTurnMeet(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			var turns []llmtest.Behaviour
			for turn := range 3 {
				var cs []llm.Call
				for i := range 4 {
					cs = append(cs, call("meet", fmt.Sprintf(`{"turn":%d,"i":%d}`, turn, i)))
				}
				turns = append(turns, w.say(llmtest.Turn{Calls: cs}))
			}
			h := newProbe(t, w, append(turns, w.say(llmtest.Turn{Text: "All met."}))...)
			s, err := h.run(t, nil)
			if err != nil || s.Outcome.Summary != "All met." || s.Called["meet"] != 12 {
				t.Fatalf("%v, %d calls met: %+v", err, s.Called["meet"], s.Outcome)
			}
			requests := h.server.Requests()
			last := string(requests[len(requests)-1].Body)
			at := 0
			for turn := range 3 {
				for i := range 4 {
					word := fmt.Sprintf("met %d in %d", i, turn)
					n := strings.Index(last[at:], word)
					if n < 0 {
						t.Fatalf("%q is missing or out of order in\n%s", word, last)
					}
					at += n
				}
			}
			history(t, len(requests)-1, requests[len(requests)-1].Body)
		})
	}
}

// TestAnswerWithoutEnd has a server that never stops talking, or never
// begins, run into the adapter's limits; the job ends with that as its reason.
func TestAnswerWithoutEnd(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			never := llmtest.Forever(func(p llmtest.Protocol) string {
				switch {
				case !w.stream:
					return " "
				case p == llmtest.Ollama:
					return `{"message":{"role":"assistant","content":"and "},"done":false}` + "\n"
				}
				return `data: {"choices":[{"index":0,"delta":{"content":"and "}}]}` + "\n\n"
			})
			h := newProbe(t, w, always(2, never)...)
			h.attempts, h.total = 2, 300*time.Millisecond
			s, err := h.run(t, nil)
			stop := new(executor.StopError)
			if !errors.As(err, &stop) || s.Outcome.Code != "model.timeout" || !strings.Contains(s.Outcome.Reason, "longer than 300ms") {
				t.Errorf("%v: %+v", err, s.Outcome)
			}
		})
	}
}

// TestRepairedArguments checks that a call whose arguments have one possible
// meaning runs, and that the model is shown once how it was read.
func TestRepairedArguments(t *testing.T) {
	w := newWorld(t, calls(call("add", `{"n":"1"}`)), calls(call("add", `{"N":"2"}`), call("add", `{"n":"3"}`)), say("done"))
	s, err := w.run(t, new(flow.Memory), w.task(nil))
	if err != nil || s.Called["add"] != 3 {
		t.Fatalf("%v; called %v", err, s.Called)
	}
	var notes []string
	for _, m := range w.last {
		if _, note, ok := strings.Cut(m.Text, "[Read your calls with a repair: "); ok {
			notes = append(notes, note)
		}
	}
	want := []string{"add: n is an integer, not a string. Write them in the exact form next time.]", "add: N is called n. Write them in the exact form next time.]"}
	if !slices.Equal(notes, want) {
		t.Errorf("the model was shown %q, want %q", notes, want)
	}
}
