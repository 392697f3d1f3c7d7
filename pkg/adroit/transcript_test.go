package adroit_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A stepLog writes the inputs of steps as the loop does: each request names the one whose
// conversation it continues by its digest.
type stepLog struct {
	t      *testing.T
	inputs []json.RawMessage
}

func (l *stepLog) ask(head string, tools []llm.ToolSpec, news ...llm.Message) (digest string) {
	l.t.Helper()
	b, err := json.Marshal(turn.ModelRequest{Head: head, Model: "m", New: news, Tools: tools})
	if err != nil {
		l.t.Fatal(err)
	}
	l.inputs = append(l.inputs, b)
	return flow.Digest(b)
}

func said(role llm.Role, text string) llm.Message { return llm.Message{Role: role, Text: text} }

func texts(msgs []llm.Message) string {
	var out []string
	for _, m := range msgs {
		out = append(out, m.Text)
	}
	return strings.Join(out, " ")
}

// conversation is a job of two turns with a sub-agent's turn between them; the result
// of the last call was not sent any more.
func conversation(t *testing.T) *adroit.Transcript {
	l := &stepLog{t: t}
	own := []llm.ToolSpec{{Name: "read_file"}}
	first := l.ask("", own, said(llm.System, "rules"), said(llm.User, "task"))
	l.inputs = append(l.inputs, json.RawMessage(`{"question": "may it?"}`), json.RawMessage(`not JSON`))
	l.ask("", nil, said(llm.System, "rules of another"), said(llm.User, "part"))
	last := l.ask(first, nil, said(llm.Assistant, "answer1"), said(llm.Tool, "result1"))
	var s executor.State
	s.Head, s.New = last, []llm.Message{said(llm.Assistant, "answer3"), said(llm.Tool, "result3")}
	out, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return adroit.Of(&jobs.Job{ID: "J1", Output: out}, l.inputs)
}

// A response is in the turn that it answers, and what no request had is the rest.
func TestOf(t *testing.T) {
	tr := conversation(t)
	if len(tr.Turns) != 3 {
		t.Fatalf("%d turns; questions to people are none", len(tr.Turns))
	}
	if got := tr.Turns[2]; got.After != 1 || texts(got.New) != "result1" {
		t.Errorf("the last turn continues %d and has %q", got.After, texts(got.New))
	}
	for turn, want := range map[int]string{1: "answer1", 3: "answer3"} {
		if r := tr.Turns[turn-1].Response; r == nil || r.Text != want {
			t.Errorf("turn %d was answered by %v, want %s", turn, r, want)
		}
	}
	if r := tr.Turns[1].Response; r != nil {
		t.Errorf("the sub-agent's last response is %q: no request has it", r.Text)
	}
	if got := texts(tr.Rest); got != "result3" {
		t.Errorf("the rest is %q", got)
	}
	if b, err := json.Marshal(adroit.Of(&jobs.Job{ID: "J2"}, nil)); err != nil || string(b) != `{"job":"J2","turns":[]}` {
		t.Errorf("a job without turns is %s, %v", b, err)
	}
}

// What the last request had is in its turn and is no rest: that request has failed.
func TestOfFailed(t *testing.T) {
	l := &stepLog{t: t}
	first := l.ask("", nil, said(llm.System, "rules"), said(llm.User, "task"))
	news := []llm.Message{said(llm.Assistant, "answer"), said(llm.Tool, "result")}
	l.ask(first, nil, news...)
	var s executor.State
	s.Head, s.New = first, append(news, said(llm.User, "later"))
	out, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	tr := adroit.Of(&jobs.Job{ID: "J1", Output: out}, l.inputs)
	if got := texts(tr.Turns[1].New) + "; " + texts(tr.Rest); got != "result; later" {
		t.Errorf("the last turn and the rest are %q", got)
	}
	if r := tr.Turns[0].Response; r == nil || r.Text != "answer" {
		t.Errorf("turn 1 was answered by %v", r)
	}
}

// A request is what the model was sent, whole: the conversation that it continues, and
// the tools that were offered first.
func TestRequest(t *testing.T) {
	tr := conversation(t)
	r := tr.Request(3)
	if got := texts(r.Messages); got != "rules task answer1 result1" {
		t.Errorf("turn 3 was sent %q", got)
	}
	if len(r.Tools) != 1 || r.Tools[0].Name != "read_file" {
		t.Errorf("turn 3 was offered %v", r.Tools)
	}
	if got := texts(tr.Request(2).Messages); got != "rules of another part" {
		t.Errorf("the sub-agent was sent %q", got)
	}
	for _, turn := range []int{-1, 0, 4} {
		if r := tr.Request(turn); r != nil {
			t.Errorf("turn %d is %v", turn, r)
		}
	}
}

// A branch ends with the results of the calls of its turn, and begins only where the
// job's own conversation has an answer.
func TestBranch(t *testing.T) {
	tr := conversation(t)
	for turn, want := range map[int]string{1: "answer1 result1", 3: "answer1 result1 answer3 result3"} {
		b, err := tr.Branch(turn)
		if err != nil {
			t.Fatal(err)
		}
		if b.Job != "J1" || b.Turn != turn || b.Opening.Text != "task" || texts(b.History) != want {
			t.Errorf("turn %d: %q after %q, want %q", turn, texts(b.History), b.Opening.Text, want)
		}
	}
	stopped := conversation(t)
	stopped.Turns[2].Response = nil
	for _, c := range []struct {
		of   *adroit.Transcript
		turn int
		want string
	}{
		{tr, 2, "is a sub-agent's"}, {tr, 4, "has 3 turns"}, {tr, 0, "has 3 turns"},
		{stopped, 3, "has no response yet"}, {&adroit.Transcript{Job: "J2"}, 1, "has no turns"},
	} {
		if _, err := c.of.Branch(c.turn); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("turn %d: %v, want that it %s", c.turn, err, c.want)
		}
	}
}
