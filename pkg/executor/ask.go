package executor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/executor/compaction"
	"github.com/adroit-run/adroit/pkg/executor/toolcall"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// An Ask is the input of a model step: what the model has not been told yet,
// and a reference to what it has. Asks form a chain by digest, so that each
// message is stored once however long the run gets.
type Ask struct {
	Head    string          `json:"head,omitempty"` // digest of the previous Ask
	New     []llm.Message   `json:"new"`
	Model   string          `json:"model"`
	Tools   []llm.ToolSpec  `json:"tools,omitempty"` // in place of those so far; nil leaves them
	Bare    bool            `json:"bare,omitempty"`  // offer no tools this time
	Must    bool            `json:"must,omitempty"`  // an answer without a call would be refused
	Gone    int             `json:"gone,omitempty"`  // answers that a compaction has taken out
	Options llm.Options     `json:"options,omitzero"`
	Output  json.RawMessage `json:"output,omitempty"`
	// At is the worktree that a model that works itself is to work in; empty is
	// the job's directory.
	At string `json:"at,omitempty"`
	Chain
	// Calling is the way that is set for the job, Setbacks what did not work
	// in it so far.
	Calling  toolcall.Mode          `json:"calling,omitempty"`
	Setbacks []toolcall.ModeFailure `json:"setbacks,omitempty"`
	// Stay is for a model that works on its own.
	Stay *Stay `json:"stay,omitempty"`
}

// An Answer is the output of a model step.
type Answer struct {
	llm.Response
	Took time.Duration `json:"took_ns"`
	// Spent was paid for beside it, by a hedge.
	Spent []Spend `json:"spent,omitempty"`
	Ref   string  `json:"-"` // the provider/model that was asked
	// Calling is the way in which it was asked, Why why not in the first one;
	// Slip what was wrong with the form of the answer.
	Calling toolcall.Mode `json:"calling,omitempty"`
	Why     string        `json:"why,omitempty"`
	Slip    string        `json:"slip,omitempty"`
	// Changed and Artifacts are what a model that works on its own has left: the
	// files that the ledger saw change, and what the host binds.
	Changed   []string                   `json:"changed,omitempty"`
	Artifacts map[string]json.RawMessage `json:"artifacts,omitempty"`
	Stay      *Stay                      `json:"-"` // that it was asked with
}

// ask has one model turn and takes it into the state. What would not fit is
// made smaller first, or after the provider has refused it.
func ask(r *flow.Run, t *Task, s *State) (llm.Message, error) {
	if err := fit(r, t, s); err != nil {
		return llm.Message{}, err
	}
	answer, err := request(r, t, s)
	if model, _ := t.at(s.Fell); t.Budget == nil || !refused(err) || llm.IsAgent(model) {
		return answer, err
	}
	if err := refit(r, t, s, err); err != nil {
		return llm.Message{}, err
	}
	answer, err = request(r, t, s)
	if refused(err) {
		return llm.Message{}, t.full(r, s, "the provider refuses what is left of it, too: "+said(err))
	}
	return answer, err
}

func request(r *flow.Run, t *Task, s *State) (llm.Message, error) {
	a := Ask{Head: s.Head, New: s.New, Model: t.Model, Options: t.Options, Output: t.Output, Bare: s.Landing != nil, Must: s.Must && s.Landing == nil, At: t.At, Gone: s.Context.Summarised,
		Calling: t.Calling, Setbacks: s.Setbacks}
	if offered := t.offered(s); offered.names != s.Offered && !a.Bare {
		a.Tools, s.Offered = offered.specs, offered.names
	}
	t.ration(s, &a.Options)
	answer, head, err := t.answer(r, s, a)
	if err != nil {
		return llm.Message{}, err
	}
	if t.Budget != nil && answer.Work == nil {
		s.Context.count(s.Context.Weight+compaction.Weigh(s.New...), s.need(t), answer.Usage.In)
		s.Context.In, s.Context.Out = answer.Usage.In, answer.Usage.Out
	}
	s.Head, s.New = head, nil
	s.Turns++
	s.pay(t, answer.Ref, answer.Usage)
	s.spend(t, answer.Spent)
	s.Spent += answer.Took
	s.Must = false
	s.steer(t, &answer)
	s.hear(&answer)
	s.worked(t, &answer)
	if a.Bare {
		// A call in the last words would run after the run was stopped.
		answer.Message.Calls = nil
	}
	return s.clean(answer.Message), nil
}

// clean makes an answer fit for the history of any provider: ids unique
// within the run, nine letters and digits as the strictest wants them; no
// thoughts of the past.
func (s *State) clean(m llm.Message) llm.Message {
	out := llm.Message{Role: llm.Assistant, Text: strings.TrimSpace(strings.ToValidUTF8(m.Text, "\uFFFD")), Calls: slices.Clone(m.Calls), State: m.State}
	for i := range out.Calls {
		c := &out.Calls[i]
		s.Calls++
		c.ID = fmt.Sprintf("call%05d", s.Calls%100_000)
	}
	return out
}

type offer struct {
	names string
	specs []llm.ToolSpec
}

// offered are the tools whose inputs exist, ready to send.
func (t *Task) offered(s *State) offer {
	var o offer
	var names []string
	for i := range t.Tools {
		if t.missing(&t.Tools[i], s) == nil && t.withheld(s, t.Tools[i].Name, s.Turns+1) == "" {
			names = append(names, t.Tools[i].Name)
			o.specs = append(o.specs, t.Tools[i].ToolSpec)
		}
	}
	o.names = strings.Join(names, ",")
	if o.specs == nil {
		o.specs = []llm.ToolSpec{}
	}
	return o
}

// missing lists the artifacts that the tool consumes and nobody has produced.
func (t *Task) missing(tool *Tool, s *State) []string {
	var out []string
	for _, name := range tool.Consumes {
		if !t.has(s, name) {
			out = append(out, name)
		}
	}
	return out
}

// take adds a turn to the state: the answer, the results in call order, the
// artifacts, the claim.
func (s *State) take(t *Task, answer llm.Message, replies []Reply) {
	if len(answer.Calls) > 0 || answer.Text != "" {
		s.New = append(s.New, answer)
		s.Empty = 0
	} else if answer.State != nil {
		// Without it the session that it names would be lost.
		said := answer
		said.Text = "(nothing)"
		s.New = append(s.New, said)
	}
	if answer.Text != "" {
		s.Last = answer.Text
	}
	var longest time.Duration // of those that ran at once
	for i, c := range answer.Calls {
		reply := replies[i]
		text := reply.Text + s.nearby(t.Project, c, reply) + s.found(t, reply)
		if i == 0 {
			text += s.mended()
		}
		s.New = append(s.New, llm.Message{Role: llm.Tool, CallID: c.ID, Name: c.Name, Text: text, Failed: reply.Failed})
		s.bind(c.Name, reply.Artifacts)
		s.Taint |= t.taint(c, reply)
		s.Rules = append(s.Rules, reply.rules...)
		if !reply.beside {
			s.Spent += longest
			longest = 0
		}
		longest = max(longest, reply.Took)
		if !reply.Failed {
			if s.Called == nil {
				s.Called = map[string]int{}
			}
			s.Called[c.Name]++
		}
	}
	s.Spent += longest
	var reports []Report
	for _, reply := range replies {
		s.spend(t, reply.Spent)
		if reply.report != nil {
			reports = append(reports, *reply.report)
		}
	}
	s.absorb(reports...)
	s.mark(answer.Calls, replies)
	s.tried(t, answer.Calls, replies)
}
