package adroit

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Transcript is all that the models of a job were sent and answered.
type Transcript struct {
	Job   string `json:"job"`
	Turns []Turn `json:"turns"` // of all its conversations, the oldest first
	// Rest lists the messages after the last response that were not sent any more,
	// such as the result of the call that ended the job.
	Rest []llm.Message `json:"rest,omitempty"`
}

// A Turn is one request to a model and its response.
type Turn struct {
	Turn int `json:"turn"` // counts from 1
	// After is the turn whose conversation it continues, 0 for a new one: that of a
	// sub-agent, or one after a compaction.
	After int           `json:"after,omitempty"`
	Model string        `json:"model"`
	New   []llm.Message `json:"new"` // what the model had not been sent before
	// Tools are offered from now on; nil if they equal After's.
	Tools   []llm.ToolSpec  `json:"tools,omitempty"`
	Options llm.Options     `json:"options,omitzero"`
	Output  json.RawMessage `json:"output,omitempty"` // the schema of the response, if it has one
	// Response is nil if none came, and where no later request has it: a job
	// has not ended in order, or it is a sub-agent's last one, whose text is in
	// the event log.
	Response *llm.Message `json:"response,omitempty"`
}

// Request is all that the model was sent in a turn, nil if there is no such turn.
func (t *Transcript) Request(turn int) *llm.Request {
	if turn < 1 || turn > len(t.Turns) {
		return nil
	}
	last := &t.Turns[turn-1]
	r := &llm.Request{Model: last.Model, Options: last.Options, Output: last.Output}
	var chain []*Turn
	for now := last; ; now = &t.Turns[now.After-1] {
		chain = append(chain, now)
		if r.Tools == nil {
			r.Tools = now.Tools
		}
		if now.After == 0 {
			break
		}
	}
	for i := len(chain) - 1; i >= 0; i-- {
		r.Messages = append(r.Messages, chain[i].New...)
		if i > 0 && chain[i].Response != nil {
			r.Messages = append(r.Messages, *chain[i].Response)
		}
	}
	return r
}

// Of makes the transcript of a job from the inputs of its steps.
func Of(j *jobs.Job, inputs []json.RawMessage) *Transcript {
	t, turns := &Transcript{Job: j.ID, Turns: []Turn{}}, map[string]int{}
	for _, in := range inputs {
		t.add(in, turns)
	}
	var s executor.State
	if len(j.Output) > 0 && json.Unmarshal(j.Output, &s) == nil && turns[s.Head] > 0 {
		t.Rest = t.respond(turns[s.Head], s.New)
		for i := range t.Turns { // a request that failed has them already
			if t.Turns[i].After == turns[s.Head] {
				t.Rest = t.Rest[min(len(t.Turns[i].New), len(t.Rest)):]
				break
			}
		}
	}
	return t
}

// add adds the input of a step if that is a request to a model. turns are those
// that are known, by the digest of their request.
func (t *Transcript) add(in json.RawMessage, turns map[string]int) {
	var r turn.ModelRequest
	if json.Unmarshal(in, &r) != nil || r.Model == "" {
		return // a question to a person
	}
	n := len(t.Turns) + 1
	turn := Turn{Turn: n, After: turns[r.Head], Model: r.Model, New: r.New, Tools: r.Tools, Options: r.Options, Output: r.Output}
	if turn.After > 0 {
		turn.New = t.respond(turn.After, r.New)
	}
	if turn.New == nil {
		turn.New = []llm.Message{}
	}
	t.Turns, turns[flow.Digest(in)] = append(t.Turns, turn), n
}

// respond takes the response of a turn from the messages that follow it, and
// returns the others.
func (t *Transcript) respond(turn int, after []llm.Message) []llm.Message {
	if len(after) == 0 || after[0].Role != llm.Assistant {
		return after
	}
	t.Turns[turn-1].Response = &after[0]
	return after[1:]
}

// HideThinking takes what the models thought out of the transcript.
func (t *Transcript) HideThinking() {
	hide := func(list []llm.Message) {
		for i := range list {
			list[i].Thinking = ""
		}
	}
	hide(t.Rest)
	for i := range t.Turns {
		turn := &t.Turns[i]
		hide(turn.New)
		if turn.Response != nil {
			turn.Response.Thinking = ""
		}
	}
}

// Last is the last turn of the job's own conversation, 0 if there is none.
func (t *Transcript) Last() int {
	for n := len(t.Turns); n > 0; n-- {
		if t.own(t.Request(n).Messages) {
			return n
		}
	}
	return 0
}

// Branch is the conversation of a job at the end of a turn.
func (t *Transcript) Branch(n int) (*turn.Branch, error) {
	help := hint.Command("jobs transcript %s", t.Job) + " shows them"
	if len(t.Turns) == 0 {
		return nil, problem.Invalidf(hint.Command("jobs retry %s", t.Job)+" begins anew", "%s has no turns", t.Job)
	}
	r := t.Request(n)
	if r == nil {
		return nil, problem.Invalidf(help, "%s has %d turns; --from is %d", t.Job, len(t.Turns), n)
	}
	if !t.own(r.Messages) {
		return nil, problem.Invalidf(help, "turn %d of %s is a sub-agent's; those of the job's own conversation can be gone on from", n, t.Job)
	}
	answer := t.Turns[n-1].Response
	if answer == nil {
		return nil, problem.Invalidf(help, "turn %d of %s has no response yet: the job was stopped before its end", n, t.Job)
	}
	b := &turn.Branch{Job: t.Job, Turn: n, Opening: r.Messages[1]}
	b.History = append(slices.Clone(r.Messages[2:]), *answer)
	for _, m := range t.after(n) {
		if m.Role != llm.Tool {
			break
		}
		b.History = append(b.History, m)
	}
	return b, nil
}

// own reports whether a request is one of the job's own conversation, also after a
// compaction.
func (t *Transcript) own(msgs []llm.Message) bool {
	first := t.Turns[0].New
	return len(msgs) > 1 && len(first) > 1 && msgs[0].Text == first[0].Text && msgs[1].Role == llm.User && strings.HasPrefix(msgs[1].Text, first[1].Text)
}

// after returns the messages that followed a turn's response.
func (t *Transcript) after(turn int) []llm.Message {
	for i := range t.Turns {
		if t.Turns[i].After == turn {
			return t.Turns[i].New
		}
	}
	return t.Rest // of the last turn; another has no call of its own in it
}
