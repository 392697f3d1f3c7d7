package executor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
	"github.com/adroit-run/adroit/pkg/tools"
)

// TestPrefixStability runs a job of 50 turns against a recording server: what
// one request holds comes first in the next, byte for byte, so that the
// server's cache serves it; but for the few turns at which the conversation
// was compacted.
func TestPrefixStability(t *testing.T) {
	for _, w := range []wire{wires[0], wires[2]} {
		t.Run(w.name, func(t *testing.T) {
			const turns = 50
			n := &narrow{t: t, seed: 9}
			server := llmtest.New(t)
			for range 3 * turns {
				server.Add(func(x *llmtest.Exchange) {
					all := server.Requests()
					body := all[len(all)-1].Body
					turn := llmtest.Turn{Text: `{"done":["read what there was"],"plan":["go on"]}`}
					if !bytes.Contains(body, []byte(notesWords)) {
						turn = played(n, body, turns)
					}
					turn.Usage = &llm.Usage{In: len(body) * 10 / 37, Out: 20}
					llmtest.Say(turn)(x)
				})
			}
			model := w.model(t, server.URL, 10*time.Second, time.Minute)
			j := new(flow.Memory)
			env := newWorld(t, say("x")).env
			mux := host.Serve(host.Host{Models: func(context.Context, string) (llm.Model, string, error) { return model, "m", nil },
				Tools: n.kit(), Blobs: j, Results: &host.ResultStore{Dir: t.TempDir()}, Env: func(context.Context, string, string) (*tools.Env, error) { return env, nil }})
			out, err := loop.Run(flow.NewRun("J1", flow.NewLocal(t.Context(), j, mux, nil)), n.task(&turn.Budget{Window: 24_000}))
			var s executor.State
			if uerr := json.Unmarshal(out, &s); err != nil || uerr != nil {
				t.Fatal(err, uerr)
			}
			var last []byte
			least, breaks := 1.0, 0
			for _, r := range server.Requests() {
				if bytes.Contains(r.Body, []byte(notesWords)) {
					continue
				}
				if last != nil {
					share := reused(t, last, r.Body)
					if share < 0.99 {
						breaks++
					} else {
						least = min(least, share)
					}
				}
				last = r.Body
			}
			t.Logf("%d turns, %d compactions; at least %.2f %% of the others' bytes come again as a prefix", s.Turns, s.Context.Compactions, least*100)
			if s.Turns != turns+1 || s.Context.Compactions == 0 || breaks != s.Context.Compactions {
				t.Errorf("%d turns, the prefix broke %d times in %d compactions", s.Turns, breaks, s.Context.Compactions)
			}
		})
	}
}

// played returns the model's answer to the request, chosen by its last result.
func played(n *narrow, body []byte, turns int) llmtest.Turn {
	i, turn := bytes.LastIndex(body, []byte(`"content":"turn `)), 0
	if i >= 0 {
		if _, err := fmt.Sscanf(string(body[i:]), `"content":"turn %d`, &turn); err != nil {
			n.t.Error(err)
		}
		turn++
	}
	if turn >= turns {
		return llmtest.Turn{Text: "all of it"}
	}
	m := n.act(turn)
	for i := range m.Calls {
		m.Calls[i].ID = fmt.Sprintf("id%d", i)
	}
	return llmtest.Turn{Text: m.Text, Calls: m.Calls}
}

// reused is the part of request a that comes again in b as a server sees it:
// the messages as a prefix, what is around them, such as the tools, unchanged.
func reused(t *testing.T, a, b []byte) float64 {
	split := func(body []byte) (messages, rest string) {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(body, &fields); err != nil {
			t.Fatal(err)
		}
		m := string(fields["messages"])
		return strings.TrimSuffix(m, "]"), strings.Replace(string(body), m, "", 1)
	}
	old, around := split(a)
	now, same := split(b)
	if around != same {
		return 0
	}
	n := 0
	for n < len(old) && n < len(now) && old[n] == now[n] {
		n++
	}
	return float64(n+len(around)) / float64(len(old)+len(around))
}
