package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A narrow is a model with a window and a tokenizer of its own. It decides by
// the last result alone, so that a run that was killed goes on as it would
// have, and checks each request as the strictest of providers would.
type narrow struct {
	t        testing.TB
	window   int
	perToken int // bytes
	turns    int
	seed     uint64
	mute     bool   // it does not count tokens
	names    int    // what it says its window is when it refuses, 0 for nothing
	curt     bool   // it refuses what is too long without a reason
	faulty   bool   // it answers what is too long with a fault that names numbers
	bytes    bool   // its limit is one of bytes, and in the end it takes nothing
	fails    bool   // it refuses everything from its fifth answer on
	summary  string // what it answers when it is asked for notes; "" makes some
	size     func(turn int) int
	asks     []string // messages of a person during the run, the first one before it, or prompts of a workflow's turns
	flow     bool     // they are a workflow's
	branch   bool     // the first one is the last of the history that the run begins with
	due      int      // how many of them were sent or asked
	send     func(string)

	asked, refused, noted atomic.Int64
	biggest               int
	faults                []string
}

const notesWords = "You keep the notes"

func (n *narrow) tokens(req *llm.Request) int {
	size := 0
	for _, m := range req.Messages {
		size += len(m.Text) + len(m.Name) + 12
		for _, c := range m.Calls {
			size += len(c.Name) + len(c.Args) + 24
		}
	}
	for _, s := range req.Tools {
		size += len(s.Name) + len(s.Description) + len(s.Input)
	}
	return size / n.perToken
}

func (n *narrow) Generate(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	in := n.tokens(req)
	n.asked.Add(1)
	if n.curt && in > n.window || n.fails && n.asked.Load() > 4 {
		n.refused.Add(1)
		return nil, &llm.Error{Kind: llm.BadRequest, Status: 400, Provider: "narrow", Message: "no"}
	}
	if n.faulty && in > n.window {
		n.refused.Add(1)
		return nil, &llm.Error{Kind: llm.Overloaded, Provider: "narrow", Message: fmt.Sprintf("cache: %d/%d", in, n.window), Window: n.window}
	}
	if n.bytes && (in > n.window || n.asked.Load() > 12) {
		n.refused.Add(1)
		return nil, &llm.Error{Kind: llm.TooLong, Status: 413, Provider: "narrow", Message: "too large", Err: tooManyBytes{errors.New("bytes")}}
	}
	if in > n.window {
		n.refused.Add(1)
		return nil, &llm.Error{Kind: llm.TooLong, Provider: "narrow", Message: fmt.Sprintf("%d tokens, the window has %d", in, n.window), Window: n.names}
	}
	n.biggest = max(n.biggest, in)
	u := llm.Usage{In: in, Out: 20}
	if n.mute {
		u = llm.Usage{}
	}
	if strings.HasPrefix(req.Messages[0].Text, notesWords) {
		n.noted.Add(1)
		text := n.summary
		if text == "" {
			text = `{"asked":"to go on","decided":["small steps, since the window is small"],"done":["read a.go"],"plan":["go on to the end"],"avoid":["nothing so far"]}`
		}
		return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: text}, Usage: u}, nil
	}
	n.faults = append(n.faults, strict(req.Messages)...)
	if !strings.HasPrefix(req.Messages[1].Text, "the task") && !n.flow {
		n.faults = append(n.faults, "the task is gone")
	}
	turn := 0
	for i, m := range slices.Backward(req.Messages) {
		if m.Role == llm.Assistant && len(m.Calls) == 0 {
			if _, err := fmt.Sscanf(m.Text, "all of %d", &turn); err == nil {
				break
			}
		}
		if m.Role != llm.Tool {
			continue
		}
		if _, err := fmt.Sscanf(m.Text, "turn %d", &turn); err != nil {
			n.faults = append(n.faults, fmt.Sprintf("result %d does not say which turn it was: %s", i, m.Text[:min(80, len(m.Text))]))
		}
		turn++
		break
	}
	n.checkAsks(req, turn)
	if n.flow && turn >= n.turns*n.due/len(n.asks) {
		return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: fmt.Sprintf("all of %d", turn)}, Usage: u}, nil
	}
	if turn >= n.turns || req.Tools == nil {
		return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: fmt.Sprintf("all of %d", turn)}, Usage: u}, nil
	}
	return &llm.Response{Message: n.act(turn), Usage: u}, nil
}

// checkAsks demands what was asked and is not done, and sends the next message when its turn has come.
func (n *narrow) checkAsks(req *llm.Request, turn int) {
	asked := n.asks[:n.due]
	if n.flow && n.due > 0 {
		asked = asked[n.due-1:]
	}
	for i, words := range asked {
		if i < len(asked)-1 {
			words = words[:min(len(words), 200)] // it may have been cut for what came later
		}
		if !slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return m.Role == llm.User && strings.Contains(m.Text, words) }) {
			n.faults = append(n.faults, fmt.Sprintf("turn %d: %.9s is gone", turn, words))
		}
	}
	if n.send != nil && n.due < len(n.asks) && turn >= n.turns*n.due/len(n.asks) {
		n.send(n.asks[n.due])
		n.due++
	}
}

// act makes the calls of a turn.
func (n *narrow) act(turn int) llm.Message {
	rnd := rand.New(rand.NewPCG(n.seed, uint64(turn)))
	m := llm.Message{Role: llm.Assistant, Text: strings.Repeat("thinking aloud ", rnd.IntN(12))}
	for range 1 + rnd.IntN(3) {
		name := []string{"read", "edit", "run"}[rnd.IntN(3)]
		m.Calls = append(m.Calls, call(name, fmt.Sprintf(`{"path":"f%d.go","turn":%d,"text":"%s"}`, rnd.IntN(5), turn, strings.Repeat("x", rnd.IntN(200)))))
	}
	return m
}

// strict lists the faults for which a provider may refuse a history.
func strict(msgs []llm.Message) (faults []string) {
	open, seen := map[string]bool{}, map[string]bool{}
	last := llm.Role("")
	for i, m := range msgs {
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Sprintf("message %d (%s): ", i, m.Role)+fmt.Sprintf(format, args...))
		}
		if m.Role != llm.Tool && len(open) > 0 {
			fault("comes before the results of %v", open)
		}
		switch m.Role {
		case llm.System:
			if i > 0 {
				fault("is not the first")
			}
		case llm.User:
			if last == llm.User {
				fault("follows another")
			}
		case llm.Assistant:
			if last == llm.Assistant || last == llm.System {
				fault("follows %s", last)
			}
		case llm.Tool:
			if !open[m.CallID] {
				fault("answers %q, which nothing asked", m.CallID)
			}
			delete(open, m.CallID)
		}
		if m.Text == "" && len(m.Calls) == 0 {
			fault("is empty")
		}
		for _, c := range m.Calls {
			if seen[c.ID] {
				fault("id %s is used twice", c.ID)
			}
			var args map[string]any
			if json.Unmarshal(c.Args, &args) != nil {
				fault("arguments %s", c.Args)
			}
			seen[c.ID], open[c.ID] = true, true
		}
		last = m.Role
	}
	return faults
}

type step struct {
	Path string `json:"path" jsonschema:"description=File."`
	Turn int    `json:"turn" jsonschema:"description=Turn."`
	Text string `json:"text,omitempty" jsonschema:"description=Text."`
}

// kit are tools whose results are as long as the model's seed says.
func (n *narrow) kit() *tools.Set {
	n.t.Helper()
	size := func(name string, in step) int {
		if n.size != nil {
			return n.size(in.Turn)
		}
		h := 0
		for _, b := range []byte(name + in.Path + in.Text) {
			h = h*31 + int(b)
		}
		return []int{10, 300, 900, 2500, 6000}[rand.New(rand.NewPCG(n.seed, uint64(in.Turn)^uint64(h))).IntN(5)]
	}
	body := func(name string) func(context.Context, *tools.Env, step) (tools.Result, error) {
		return func(_ context.Context, _ *tools.Env, in step) (tools.Result, error) {
			var b strings.Builder
			fmt.Fprintf(&b, "turn %d of %s\n", in.Turn, name)
			for i := 0; b.Len() < size(name, in); i++ {
				fmt.Fprintf(&b, "%s line %d of %s, größer als {%d}\n", name, i, in.Path, i*7)
			}
			res := tools.Result{Text: b.String(), Failed: in.Turn%7 == 3 && name == "run"}
			if in.Turn == 0 {
				res.Taint = tools.Secret
			}
			return res, nil
		}
	}
	set, err := tools.NewSet(
		tools.New(tools.Metadata{Name: "read", Description: "Read.", Needs: tools.Read, Paths: []string{"path"}}, body("read")),
		tools.New(tools.Metadata{Name: "edit", Description: "Edit.", Needs: tools.Write, Paths: []string{"path"}, Effect: tools.Idempotent}, body("edit")),
		tools.New(tools.Metadata{Name: "run", Description: "Run.", Needs: tools.Exec, Effect: tools.Idempotent}, body("run")),
		control.ReadResult,
	)
	if err != nil {
		n.t.Fatal(err)
	}
	return set
}

func (n *narrow) task(b *turn.Budget) json.RawMessage {
	task := executor.Task{Instructions: executor.Instructions{Model: "narrow/m", System: "You work.", Prompt: "the task is to go on"}, Work: executor.Work{Tools: agents.PinTools(n.kit()),
		Limits: executor.Limits{Turns: -1, Tokens: -1}}, Inputs: executor.Inputs{Taint: tools.Untrusted}}
	task.Budget = b
	if n.curt {
		task.CallMode = turn.Native // in the others a result is a message of the user
	}
	if n.asks != nil {
		task.Revision = turn.Revision
	}
	if n.branch {
		task.History = []llm.Message{say("all of 0"), {Role: llm.User, Text: n.asks[0]}}
	}
	in, err := json.Marshal(task)
	if err != nil {
		n.t.Fatal(err)
	}
	return in
}

// mux serves the job's steps with its files in dir.
func (n *narrow) mux(j flow.Blobs, dir string) flow.Mux {
	w := newWorld(n.t, say("x"))
	return host.Serve(host.Host{
		Models: func(context.Context, string) (llm.Model, string, error) { return n, "m", nil },
		Tools:  n.kit(), Blobs: j, Results: &host.ResultStore{Dir: dir},
		Env: func(context.Context, string, string) (*tools.Env, error) { return w.env, nil },
	})
}

func (n *narrow) run(in json.RawMessage, sink event.Sink) (*executor.State, error) {
	n.t.Helper()
	j := new(flow.Memory)
	if n.asks != nil && !n.flow {
		n.send = func(words string) {
			m, err := json.Marshal(executor.Message{Text: words})
			if err := errors.Join(err, j.Send(n.t.Context(), "J1", flow.Signal{Name: turn.MessageSignal, Value: m})); err != nil {
				n.t.Error(err)
			}
		}
		if n.due++; !n.branch {
			n.send(n.asks[0])
		}
	}
	reading := flow.Define("agent", func(r *flow.Run, t executor.Task) (*executor.State, error) {
		if !n.flow {
			t.Messages = n.asks != nil
			return executor.Loop(r, t)
		}
		sc := executor.NewScope(r, t)
		var err error
		for i, words := range n.asks {
			if n.due = i + 1; err == nil {
				_, err = executor.AITurn[string](sc, executor.Turn{Prompt: words, Act: true})
			}
		}
		return sc.Finish(err)
	})
	out, err := reading.Run(flow.NewRun("J1", flow.NewLocal(n.t.Context(), j, n.mux(j, n.t.TempDir()), sink)), in)
	s := new(executor.State)
	if uerr := json.Unmarshal(out, s); uerr != nil {
		n.t.Fatalf("state: %v (run: %v)", uerr, err)
	}
	return s, err
}

// TestRandomHistoriesFit runs jobs of random shape in windows of random size,
// known, guessed wrong or not known at all: each ends as it should or says
// clearly that it cannot, and every request is one that a provider takes.
func TestRandomHistoriesFit(t *testing.T) {
	compacted, failed, refused := 0, 0, 0
	for seed := range uint64(36) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		window := []int{1500, 3000, 6000, 12_000}[rnd.IntN(4)]
		n := &narrow{t: t, window: window, perToken: 1 + rnd.IntN(4), turns: 10 + rnd.IntN(30), seed: seed, mute: seed%5 == 0}
		if seed%4 > 1 {
			n.flow, n.branch = seed%4 == 2, seed%8 == 3
			for i := range 1 + rnd.IntN(4) {
				n.asks = append(n.asks, fmt.Sprintf("ask %d:%s", i, strings.Repeat(" whistle", 1<<rnd.IntN(9))))
				if seed%3 == 0 {
					n.asks[i] += " the task is to go on" // the words of the task stand in it
				}
			}
		}
		b := &turn.Budget{Window: window}
		switch seed % 3 {
		case 1:
			b.Window, b.Guess = window*3, true
		case 2:
			b.Window = 0
		}
		s, err := n.run(n.task(b), nil)
		for _, f := range n.faults {
			t.Errorf("seed %d: %s", seed, f)
		}
		var stop *executor.StopError
		switch {
		case err == nil:
			if s.Last != fmt.Sprintf("all of %d", n.turns) {
				t.Errorf("seed %d: %q", seed, s.Last)
			}
		case !errors.As(err, &stop) || stop.Outcome.Code != "context.full" || !strings.Contains(stop.Reason(), "window"):
			t.Errorf("seed %d, window %d, %d bytes a token: %v", seed, window, n.perToken, err)
		default:
			failed++
		}
		if int(n.refused.Load()) > 2+s.Context.Compactions {
			t.Errorf("seed %d: refused %d times in %d compactions", seed, n.refused.Load(), s.Context.Compactions)
		}
		if s.Context.Compactions > 0 && s.Taint&(tools.Untrusted|tools.Secret) != tools.Untrusted|tools.Secret {
			t.Errorf("seed %d: what the run has read is %v after %d compactions", seed, s.Taint, s.Context.Compactions)
		}
		compacted += s.Context.Compactions
		refused += int(n.refused.Load())
	}
	t.Logf("%d compactions, %d refusals, %d of 36 jobs failed clearly", compacted, refused, failed)
	if compacted < 50 || failed > 12 {
		t.Error("that is not what was to be tested")
	}
}

// TestRefusalsThatNameTheWindow: the job then knows it, and what cannot be true is not believed.
func TestRefusalsThatNameTheWindow(t *testing.T) {
	for _, b := range []turn.Budget{{Window: 48_000, Guess: true}, {}, {Window: 48_000}} {
		for names, most := range map[int]int64{6000: 1, 100: 9, 2_000_000: 9} {
			if names != 6000 && b.Window > 0 && !b.Guess {
				continue // who configured the window is believed
			}
			n := &narrow{t: t, window: 6000, perToken: 3, turns: 40, seed: 4, names: names}
			s, err := n.run(n.task(&b), nil)
			if err != nil || n.refused.Load() == 0 || n.refused.Load() > most || len(n.faults) > 0 || (s.Context.Window == 6000) != (names == 6000) {
				t.Errorf("%+v, named as %d: %v, refused %d times, %+v, %v", b, names, err, n.refused.Load(), s.Context, n.faults)
			}
		}
	}
}

// TestRefusalsWithoutReason: a request that may be too long is compacted once; if that was not
// it, the job fails with the server's words and keeps its conversation.
func TestRefusalsWithoutReason(t *testing.T) {
	for _, b := range []turn.Budget{{Window: 12_000, Guess: true}, {}, {Window: 10_500}} {
		n := &narrow{t: t, window: 6000, perToken: 3, turns: 25, seed: 4, curt: true}
		s, err := n.run(n.task(&b), nil)
		if err != nil || n.refused.Load() == 0 || s.Context.Compactions == 0 || len(n.faults) > 0 {
			t.Errorf("%+v: %v, refused %d times, %+v, %v", b, err, n.refused.Load(), s.Context, n.faults)
		}
		n = &narrow{t: t, window: 20_000, perToken: 3, turns: 25, seed: 4, fails: true, size: func(int) int { return 1500 }}
		b.Window *= 8
		s, err = n.run(n.task(&b), nil)
		var stop *executor.StopError
		times := int64(5) // the request in each way to call tools, the one for notes, the shorter one
		if b.Window > 0 && !b.Guess {
			times = 3 // it is a small part of what is sure to fit
		}
		if !errors.As(err, &stop) || stop.Outcome.Code != "model.bad_request" || !strings.Contains(stop.Reason(), "no (HTTP 400)") || n.refused.Load() != times || s.Notes != nil || s.Turns != 4 {
			t.Errorf("%+v: %v, refused %d times, notes %v", b, err, n.refused.Load(), s.Notes)
		}
	}
}

type tooManyBytes struct{ error }

func (tooManyBytes) InBytes() {}

// TestTooManyBytes: what a limit of bytes refuses is made shorter for once, nothing is learned of the
// window, and the history stays where that does not help.
func TestTooManyBytes(t *testing.T) {
	n := &narrow{t: t, window: 6000, perToken: 3, turns: 9, seed: 4, bytes: true}
	b := turn.Budget{Window: 100_000}
	s, err := n.run(n.task(&b), nil)
	var stop *executor.StopError
	if !errors.As(err, &stop) || stop.Outcome.Code != "model.too_long" || !strings.Contains(stop.Reason(), "too large (HTTP 413)") || strings.Contains(stop.Reason(), "fit") {
		t.Errorf("%v", err)
	}
	if c := s.Context; c.Compactions < 2 || c.Window != 0 || c.Cap != 0 || s.Notes == nil && c.Shortened == 0 {
		t.Errorf("%+v", c)
	}
}

// TestFaultsWithNumbers: what stays a fault after it was repeated may be a request that is too
// long, if it has the numbers of one.
func TestFaultsWithNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &narrow{t: t, window: 6000, perToken: 3, turns: 25, seed: 4, faulty: true}
		s, err := n.run(n.task(&turn.Budget{Window: 12_000, Guess: true}), nil)
		if err != nil || n.refused.Load() == 0 || s.Context.Compactions == 0 || len(n.faults) > 0 {
			t.Errorf("%v, refused %d times, %+v, %v", err, n.refused.Load(), s.Context, n.faults)
		}
	})
}

// TestKillDuringCompaction stops a job at every point of its journal in turn;
// what is resumed ends with the same conversation as the undisturbed job.
func TestKillDuringCompaction(t *testing.T) {
	make := func() *narrow {
		return &narrow{t: t, window: 2500, perToken: 3, turns: 7, seed: 4}
	}
	whole := make()
	in := whole.task(&turn.Budget{Window: 2500})
	steady, err := whole.run(in, nil)
	if err != nil || steady.Context.Compactions == 0 || whole.noted.Load() == 0 {
		t.Fatalf("%v: %+v, %d summaries", err, steady.Context, whole.noted.Load())
	}
	points := 0
	for k := 1; ; k++ {
		n, j, dir := make(), new(flow.Memory), t.TempDir()
		ctx, cancel := context.WithCancelCause(t.Context())
		e := flow.NewLocal(ctx, j, n.mux(j, dir), nil)
		var at atomic.Int64
		within := false
		e.Hook = func(_ string, s flow.Step) {
			if at.Add(1) == int64(k) {
				within = s.Kind == "compact"
				cancel(errors.New("killed"))
			}
		}
		out, err := loop.Run(flow.NewRun("J1", e), in)
		if int(at.Load()) < k {
			if points == 0 || err != nil {
				t.Errorf("%d points within compactions, %v", points, err)
			}
			return
		}
		if within {
			points++
		}
		if err != nil {
			out, err = loop.Run(flow.NewRun("J1", flow.NewLocal(t.Context(), j, n.mux(j, dir), nil)), in)
		}
		s := new(executor.State)
		if uerr := json.Unmarshal(out, s); err != nil || uerr != nil {
			t.Fatalf("killed at %d: %v, %v", k, err, uerr)
		}
		// The head is the digest of all that the model has seen.
		switch {
		case s.Head != steady.Head:
			t.Fatalf("s.Head is %v, want %v: killed at %d: %+v instead of %+v; %v", s.Head, steady.Head, k, s.Context, steady.Context, n.faults)
		case s.Last != steady.Last:
			t.Fatalf("s.Last is %v, want %v: killed at %d: %+v instead of %+v; %v", s.Last, steady.Last, k, s.Context, steady.Context, n.faults)
		case s.Context != steady.Context:
			t.Fatalf("s.Context is %v, want %v: killed at %d: %+v instead of %+v; %v", s.Context, steady.Context, k, s.Context, steady.Context, n.faults)
		case len(n.faults) > 0:
			t.Fatalf("len(n.faults) > 0: killed at %d: %+v instead of %+v; %v", k, s.Context, steady.Context, n.faults)
		}
	}
}

// many are as many long notes as are taken.
func many(word string) string {
	var list []string
	for i := range 12 {
		list = append(list, fmt.Sprintf(`"%d %s"`, i, strings.Repeat(word+" ", 190)))
	}
	return strings.Join(list, ",")
}

// TestPoorSummary has the model that summarises answer badly in each way: the
// job goes on with notes made from the record of calls, and says so.
func TestPoorSummary(t *testing.T) {
	for name, c := range map[string]struct {
		summary string
		why     string
	}{
		"empty":    {" ", "no notes"},
		"refused":  {"I cannot help with that.", "no notes"},
		"hollow":   {`{"asked":"to go on","decided":[],"done":[],"plan":[],"avoid":[]}`, "no notes"},
		"too long": {fmt.Sprintf(`{"done":[%s],"plan":[%s],"avoid":[%s]}`, many("a"), many("b"), many("c")), "longer"},
	} {
		t.Run(name, func(t *testing.T) {
			n := &narrow{t: t, window: 3000, perToken: 3, turns: 12, seed: 4, summary: c.summary}
			var notes, said []string
			s, err := n.run(n.task(&turn.Budget{Window: 3000, Cheap: "narrow/small"}), func(ev event.Event) {
				switch {
				case ev.Kind == event.Note:
					notes = append(notes, ev.Text)
				case ev.Kind == event.StepFinished && ev.Step == "compact":
					said = append(said, ev.Text)
				}
			})
			if err != nil || len(n.faults) > 0 {
				t.Fatal(err, n.faults)
			}
			switch {
			case s.Notes == nil:
				t.Errorf("s.Notes is nil: notes %+v", s.Notes)
			case !s.Notes.Plain:
				t.Errorf("s.Notes.Plain is false: notes %+v", s.Notes)
			case s.Notes.Turns == 0:
				t.Errorf("s.Notes.Turns is 0: notes %+v", s.Notes)
			case !strings.Contains(strings.Join(s.Notes.Done, "\n"), "f1.go"):
				t.Errorf(`strings.Join(s.Notes.Done, "\n") lacks "f1.go": notes %+v`, s.Notes)
			}
			if all := strings.Join(notes, "\n"); !strings.Contains(all, "the summary of narrow/small is not used") || !strings.Contains(all, c.why) {
				t.Errorf("not reported: %q", all)
			}
			if all := strings.Join(said, "\n"); !strings.Contains(all, "summarised from the record") || !strings.Contains(all, "compacted: ") {
				t.Errorf("%q", all)
			}
			if s.ByModel["narrow/small"].In == 0 {
				t.Error("a poor summary is paid for, too")
			}
		})
	}
}

// TestWholeResultsStay has a model see a long result in part and reads the
// rest by its id.
func TestWholeResultsStay(t *testing.T) {
	n := &narrow{t: t, window: 50_000, perToken: 3, turns: 2, seed: 1, size: func(int) int { return 200_000 }}
	in := n.task(&turn.Budget{Window: 50_000})
	j, dir := new(flow.Memory), t.TempDir()
	var last []llm.Message
	look := llm.Func(func(ctx context.Context, req *llm.Request, show func(llm.Delta)) (*llm.Response, error) {
		last = req.Messages
		return n.Generate(ctx, req, show)
	})
	mux := host.Serve(host.Host{Models: func(context.Context, string) (llm.Model, string, error) { return look, "m", nil },
		Tools: n.kit(), Blobs: j, Results: &host.ResultStore{Dir: dir}, Env: func(context.Context, string, string) (*tools.Env, error) { return newWorld(t, say("x")).env, nil }})
	if _, err := loop.Run(flow.NewRun("J1", flow.NewLocal(t.Context(), j, mux, nil)), in); err != nil {
		t.Fatal(err)
	}
	text := last[len(last)-1].Text
	_, rest, ok := strings.Cut(text, `read_result with id "`)
	if !ok || len(text) > turn.DefaultResult || !strings.HasPrefix(text, "turn 1 of") {
		t.Fatalf("%d bytes were shown: %s", len(text), text[:200])
	}
	id, _, _ := strings.Cut(rest, `"`)
	whole, err := (&host.ResultStore{Dir: dir}).Result(id)
	if err != nil || len(whole) < 200_000 || !strings.HasSuffix(whole, text[len(text)-100:]) {
		t.Errorf("%v, %d bytes", err, len(whole))
	}
	for _, bad := range []string{"", "../" + id, "zzzzzzzzzzzz", id + "0"} {
		if s, err := (&host.ResultStore{Dir: dir}).Result(bad); err == nil {
			t.Errorf("%q gives %d bytes", bad, len(s))
		}
	}
}
