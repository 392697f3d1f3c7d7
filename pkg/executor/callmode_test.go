package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A speaker answers the n-th question in the way it is asked.
type speaker struct {
	mu    sync.Mutex
	asked []llm.Request
	reply func(n int, way turn.Mode, req *llm.Request) (*llm.Response, error)
}

func wayOf(req *llm.Request) turn.Mode {
	switch {
	case len(req.Tools) > 0:
		return turn.Native
	case strings.Contains(string(req.Output), `"next"`):
		return turn.Constrained
	}
	return turn.Text
}

func (s *speaker) Generate(_ context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, llm.Request{Messages: slices.Clone(req.Messages), Tools: req.Tools, Output: req.Output})
	r, err := s.reply(len(s.asked)-1, wayOf(req), req)
	if err == nil && emit != nil {
		emit(llm.Delta{Text: r.Message.Text})
	}
	return r, err
}

// learned is a driver that records the failures it learns of.
type learned struct {
	mu   sync.Mutex
	list []turn.ModeFailure
}

func (l *learned) Modes(context.Context, string) ([]turn.Mode, string) { return nil, "" }
func (l *learned) Learn(_ string, s turn.ModeFailure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.list, s) {
		l.list = append(l.list, s)
	}
}

func answer(m llm.Message) (*llm.Response, error) {
	m.Role = llm.Assistant
	r := &llm.Response{Message: m, Usage: llm.Usage{In: 10, Out: 5}, Stop: llm.StopEnd}
	if len(m.Calls) > 0 {
		r.Stop = llm.StopCalls
	}
	return r, nil
}

// inWay writes a message as a model does that is asked in a way.
func inWay(way turn.Mode, m llm.Message) (*llm.Response, error) {
	switch {
	case way == turn.Native:
		return answer(m)
	case way == turn.Constrained && len(m.Calls) > 0:
		return answer(say(fmt.Sprintf(`{"next":{"tool":%q,"arguments":%s}}`, m.Calls[0].Name, m.Calls[0].Args)))
	case way == turn.Constrained:
		return answer(say(fmt.Sprintf(`{"next":{"answer":%q}}`, m.Text)))
	case len(m.Calls) > 0:
		return answer(say(fmt.Sprintf(`<tool_call>{"name":%q,"arguments":%s}</tool_call>`, m.Calls[0].Name, m.Calls[0].Args)))
	}
	return answer(m)
}

func (w *world) drive(t *testing.T, model llm.Model, driver host.CallModes, edit func(*executor.Task)) (*executor.State, []event.Event, error) {
	t.Helper()
	j := new(flow.Memory)
	var seen []event.Event
	mux := host.Serve(host.Host{Tools: w.tools, Blobs: j, CallModes: driver,
		Env:    func(context.Context, string, string) (*tools.Env, error) { return w.env, nil },
		Models: func(context.Context, string) (llm.Model, string, error) { return model, "m", nil }})
	out, err := loop.Run(flow.NewRun("J1", flow.NewLocal(t.Context(), j, mux, func(e event.Event) { seen = append(seen, e) })), w.task(edit))
	var s executor.State
	if uerr := json.Unmarshal(out, &s); uerr != nil {
		t.Fatalf("state: %v (run: %v)", uerr, err)
	}
	return &s, seen, err
}

// TestWays has one script end the same however the model is asked.
func TestWays(t *testing.T) {
	script := []llm.Message{
		calls(call("add", `{"n":2}`)), calls(call("add", `{"n":40}`)), calls(call("report", `{}`)), calls(call("finish", `{"summary":"it is 42"}`)), say("done"),
	}
	for _, way := range []turn.Mode{turn.Native, turn.Constrained, turn.Text} {
		t.Run(string(way), func(t *testing.T) {
			w := newWorld(t)
			sp := &speaker{reply: func(n int, asked turn.Mode, _ *llm.Request) (*llm.Response, error) {
				if asked != way {
					t.Errorf("question %d was asked %s", n, asked)
				}
				return inWay(asked, script[n])
			}}
			s, _, err := w.drive(t, sp, nil, func(t *executor.Task) {
				t.CallMode = way
				t.Done = executor.Criterion{All: []executor.Criterion{{Signal: "TASK_COMPLETE"}, {Artifact: "sum"}}}
			})
			switch {
			case err != nil:
				t.Fatalf("unexpected error: %v: sum %s, %+v", err, s.Value("sum"), s.Outcome)
			case string(s.Value("sum")) != "42":
				t.Fatalf(`string(s.Value("sum")) is not "42": %v: sum %s, %+v`, err, s.Value("sum"), s.Outcome)
			case s.Outcome.Summary != "it is 42":
				t.Fatalf(`s.Outcome.Summary is %v, want "it is 42": %v: sum %s, %+v`, s.Outcome.Summary, err, s.Value("sum"), s.Outcome)
			case s.Called["report"] != 1:
				t.Fatalf(`s.Called["report"] is %v, want 1: %v: sum %s, %+v`, s.Called["report"], err, s.Value("sum"), s.Outcome)
			}
			// What was sent once is sent again the same, so that the server
			// need not read it twice.
			for i := 1; i < len(sp.asked); i++ {
				was, is := sp.asked[i-1].Messages, sp.asked[i].Messages
				same := slices.EqualFunc(was, is[:len(was)], func(a, b llm.Message) bool { return a.Text == b.Text && a.Role == b.Role })
				if !same && w.offeredSame(sp.asked[i-1].Messages[0].Text, sp.asked[i].Messages[0].Text) {
					t.Errorf("question %d does not begin as the one before", i)
				}
				for _, m := range is {
					if way != turn.Native && (m.Role == llm.Tool || len(m.Calls) > 0) {
						t.Errorf("%s has a message of the native form: %+v", way, m)
					}
				}
			}
		})
	}
}

func (w *world) offeredSame(a, b string) bool { return a == b }

func TestFallsBack(t *testing.T) {
	unsupported := &llm.Error{Kind: llm.Unsupported, Provider: "lab", Message: "no tools"}
	bad := llm.Message{Calls: []llm.Call{{ID: "a", Name: "add", Args: json.RawMessage(`{}`), Malformed: "the arguments are not valid JSON"}}}
	for _, c := range []struct {
		name  string
		reply func(n int, way turn.Mode) (*llm.Response, error)
		want  []turn.Mode // the ways of the questions
		why   string
	}{
		{"refused", func(n int, way turn.Mode) (*llm.Response, error) {
			if way == turn.Native {
				return nil, unsupported
			}
			return inWay(way, []llm.Message{1: calls(call("add", `{"n":4}`)), 2: say("done"), 3: say("done")}[n])
		}, []turn.Mode{"native", "constrained", "constrained"}, "lab: no tools"},
		{"twice refused", func(n int, way turn.Mode) (*llm.Response, error) {
			if way != turn.Text {
				return nil, unsupported
			}
			return inWay(way, []llm.Message{2: calls(call("add", `{"n":4}`)), 3: say("done")}[n])
		}, []turn.Mode{"native", "constrained", "text", "text"}, "lab: no tools"},
		{"swallowed", func(n int, way turn.Mode) (*llm.Response, error) {
			if way == turn.Native {
				r, _ := answer(llm.Message{})
				r.Notes = []string{llm.DroppedCall}
				return r, nil
			}
			return inWay(way, []llm.Message{2: calls(call("add", `{"n":4}`)), 3: say("done")}[n])
		}, []turn.Mode{"native", "native", "constrained", "constrained"}, "the server swallowed a call, 2 times in a row"},
		{"malformed", func(n int, way turn.Mode) (*llm.Response, error) {
			if way == turn.Native {
				return answer(bad)
			}
			return inWay(way, []llm.Message{2: calls(call("add", `{"n":4}`)), 3: say("done")}[n])
		}, []turn.Mode{"native", "native", "constrained", "constrained"}, "the arguments of a call could not be read, 2 times in a row"},
		{"not held to the form", func(n int, way turn.Mode) (*llm.Response, error) {
			switch way {
			case turn.Native:
				return nil, unsupported
			case turn.Constrained:
				return answer(say(`<tool_call>{"name":"peek","arguments":{}}</tool_call>`))
			}
			return inWay(way, []llm.Message{3: calls(call("add", `{"n":4}`)), 4: say("done")}[n])
		}, []turn.Mode{"native", "constrained", "constrained", "text", "text"}, "the answer was not in the form that was asked for, 2 times in a row"},
		{"cut when held to a form", func(n int, way turn.Mode) (*llm.Response, error) {
			switch way {
			case turn.Native:
				return nil, unsupported
			case turn.Constrained:
				return nil, &llm.Error{Kind: llm.Cut, Provider: "lab", Message: "the answer ended early"}
			}
			return inWay(way, []llm.Message{3: calls(call("add", `{"n":4}`)), 4: say("done")}[n])
		}, []turn.Mode{"native", "constrained", "constrained", "text", "text"}, "lab: the answer ended early"},
		{"a good call between bad ones", func(n int, way turn.Mode) (*llm.Response, error) {
			return []func() (*llm.Response, error){
				func() (*llm.Response, error) { return answer(bad) },
				func() (*llm.Response, error) { return answer(calls(call("add", `{"n":4}`))) },
				func() (*llm.Response, error) { return answer(bad) },
				func() (*llm.Response, error) { return answer(say("done")) },
			}[n]()
		}, []turn.Mode{"native", "native", "native", "native"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			var asked []turn.Mode
			sp := &speaker{reply: func(n int, way turn.Mode, _ *llm.Request) (*llm.Response, error) {
				asked = append(asked, way)
				return c.reply(n, way)
			}}
			l := new(learned)
			s, seen, err := w.drive(t, sp, l, nil)
			if err != nil || w.added.Load() != 4 {
				t.Fatalf("%v, added %d, %+v", err, w.added.Load(), s.Outcome)
			}
			if !slices.Equal(asked, c.want) {
				t.Errorf("asked %v, want %v", asked, c.want)
			}
			if c.why == "" {
				if len(l.list) > 0 {
					t.Errorf("learned %v", l.list)
				}
				return
			}
			if len(l.list) == 0 || l.list[len(l.list)-1].Why != c.why {
				t.Errorf("learned %+v, want %q", l.list, c.why)
			}
			reported := slices.ContainsFunc(seen, func(e event.Event) bool {
				return strings.Contains(string(e.Data), `"calling":"`+string(c.want[len(c.want)-1])+`"`) && strings.Contains(string(e.Data), c.why)
			})
			if !reported {
				t.Error("no event says how the model was asked, and why")
			}
		})
	}
}

func TestForcedWayIsKept(t *testing.T) {
	w := newWorld(t)
	sp := &speaker{reply: func(int, turn.Mode, *llm.Request) (*llm.Response, error) {
		return nil, &llm.Error{Kind: llm.Unsupported, Provider: "lab", Message: "no tools"}
	}}
	s, _, err := w.drive(t, sp, nil, func(t *executor.Task) { t.CallMode = turn.Native })
	if err == nil || s.Outcome.Code != "model.unsupported" || len(sp.asked) != 1 {
		t.Errorf("%v, %+v, asked %d times", err, s.Outcome, len(sp.asked))
	}
}

func TestConstrainedAndTooLong(t *testing.T) {
	cut := func() (*llm.Response, error) {
		r, _ := answer(say(`{"next":{"tool":"add","arguments":{"n":1`))
		r.Stop = llm.StopLength
		return r, nil
	}
	t.Run("the second one is shorter", func(t *testing.T) {
		w := newWorld(t)
		sp := &speaker{reply: func(n int, way turn.Mode, req *llm.Request) (*llm.Response, error) {
			switch n {
			case 0:
				return cut()
			case 1:
				if last := req.Messages[len(req.Messages)-1].Text; !strings.Contains(last, "cut off") {
					t.Errorf("it was asked again with %q", last)
				}
				return inWay(way, calls(call("add", `{"n":4}`)))
			}
			if strings.Contains(fmt.Sprint(req.Messages), "cut off") {
				t.Error("the transcript holds what was said beside it")
			}
			return inWay(way, say("done"))
		}}
		s, _, err := w.drive(t, sp, nil, func(t *executor.Task) { t.CallMode = turn.Constrained })
		if err != nil || w.added.Load() != 4 || s.Usage != (llm.Usage{In: 30, Out: 15}) {
			t.Errorf("%v, added %d, used %+v", err, w.added.Load(), s.Usage)
		}
	})
	t.Run("never", func(t *testing.T) {
		w := newWorld(t)
		sp := &speaker{reply: func(int, turn.Mode, *llm.Request) (*llm.Response, error) { return cut() }}
		s, _, err := w.drive(t, sp, nil, func(t *executor.Task) { t.CallMode = turn.Constrained })
		switch {
		case err == nil:
			t.Errorf("err is nil: %v, %+v, asked %d times", err, s.Outcome, len(sp.asked))
		case s.Outcome.Code != "model.overrun":
			t.Errorf(`s.Outcome.Code is %v, want "model.overrun": %v, %+v, asked %d times`, s.Outcome.Code, err, s.Outcome, len(sp.asked))
		case len(sp.asked) != 2:
			t.Errorf("len(sp.asked) is %v, want 2: %v, %+v, asked %d times", len(sp.asked), err, s.Outcome, len(sp.asked))
		case w.added.Load() != 0:
			t.Errorf("w.added.Load() is not 0: %v, %+v, asked %d times", err, s.Outcome, len(sp.asked))
		}
	})
	t.Run("as text it is read", func(t *testing.T) {
		w := newWorld(t)
		l := new(learned)
		sp := &speaker{reply: func(n int, way turn.Mode, _ *llm.Request) (*llm.Response, error) {
			switch way {
			case turn.Native:
				return nil, &llm.Error{Kind: llm.Unsupported, Provider: "lab", Message: "no tools"}
			case turn.Constrained:
				if n > 3 {
					return inWay(way, say("done"))
				}
				return cut()
			}
			return inWay(way, calls(call("add", `{"n":4}`)))
		}}
		if _, _, err := w.drive(t, sp, l, nil); err != nil || w.added.Load() != 4 || len(l.list) != 1 {
			t.Errorf("%v, added %d, learned %v", err, w.added.Load(), l.list)
		}
	})
}

func TestTypedOutputInEachWay(t *testing.T) {
	const schema = `{"type":"object","properties":{"sum":{"$ref":"#/$defs/n"},"note":{"type":"string"}},"required":["sum"],"additionalProperties":false,"$defs":{"n":{"type":"integer","minimum":10}}}`
	for _, way := range []turn.Mode{turn.Native, turn.Constrained, turn.Text} {
		t.Run(string(way), func(t *testing.T) {
			w := newWorld(t)
			wrapped := func(way turn.Mode, text string) (*llm.Response, error) {
				if way == turn.Constrained {
					text = `{"next":{"answer":` + text + `}}`
				}
				return answer(say(text))
			}
			sp := &speaker{reply: func(n int, asked turn.Mode, req *llm.Request) (*llm.Response, error) {
				if strings.Contains(string(req.Output), "$ref") {
					t.Errorf("the schema went out with references: %s", req.Output)
				}
				switch n {
				case 0:
					return inWay(asked, calls(call("add", `{"n":12}`)))
				case 1:
					return wrapped(asked, `{"sum":2}`)
				}
				if last := req.Messages[len(req.Messages)-1].Text; !strings.Contains(last, "sum") || !strings.Contains(last, "10") {
					t.Errorf("the fault was reported as %q", last)
				}
				return wrapped(asked, `{"sum":12,"note":null}`)
			}}
			s, _, err := w.drive(t, sp, nil, func(t *executor.Task) { t.CallMode, t.Output = way, json.RawMessage(schema) })
			if err != nil || string(s.Value("output")) != `{"sum":12}` || s.Turns != 3 {
				t.Errorf("%v: output %s after %d turns, %+v", err, s.Value("output"), s.Turns, s.Outcome)
			}
		})
	}
}

// TestFormIsTheSame guards the bytes that a server's cache of grammars lives
// on.
func TestFormIsTheSame(t *testing.T) {
	var forms []string
	for range 3 {
		w := newWorld(t)
		sp := &speaker{reply: func(_ int, way turn.Mode, req *llm.Request) (*llm.Response, error) {
			forms = append(forms, string(req.Output))
			return inWay(way, say("done"))
		}}
		if _, _, err := w.drive(t, sp, nil, func(t *executor.Task) { t.CallMode = turn.Constrained }); err != nil {
			t.Fatal(err)
		}
	}
	if forms[0] == "" || forms[0] != forms[1] || forms[1] != forms[2] {
		t.Errorf("three runs with the same tools sent\n%s", strings.Join(forms, "\n"))
	}
	for _, tool := range []string{"add", "boom", "finish", "peek", "report", "sh"} {
		if !strings.Contains(forms[0], `"const":"`+tool+`"`) {
			t.Errorf("%s cannot be called: %s", tool, forms[0])
		}
	}
}
