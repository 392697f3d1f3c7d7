package executor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Message is a person's addition to the conversation of a job. The job's agent reads it
// before its next request to the model; a message that arrives while the last request is
// answered keeps the job from ending.
type Message struct {
	Text string `json:"text,omitempty"`
	// Attached goes with Text. What is attached is read when the message is sent.
	Attached
	// Limits are the limits of a job that has ended and goes on with the message; zero
	// fields mean its agent's limits.
	Limits Limits `json:"limits,omitzero"`
	// Model is asked from here on, as provider/model; empty: the one that the job
	// has.
	Model string `json:"model,omitempty"`
	// Mode is the permission mode from here on; empty: the one that the job has. It goes
	// with a Text or Attachments.
	Mode Mode `json:"mode,omitempty"`
	// Compact makes the conversation smaller before the next request. A job that has
	// ended does that alone, without a Text or a Model, and ends as it had.
	Compact bool `json:"compact,omitempty"`

	// The following fields are set by the program that takes the message: facts about
	// Model, and in Anew whether the job has ended, so that its limits begin anew. Stated
	// is the window if Window is not stated, and Guess reports that nobody stated it.
	Window int       `json:"window,omitempty"`
	Stated int       `json:"stated,omitempty"`
	Guess  bool      `json:"guess,omitempty"`
	Price  llm.Price `json:"price,omitzero"`
	Anew   bool      `json:"anew,omitempty"`
	// Taint is the taint of the attachments.
	Taint tools.Taint `json:"taint,omitempty"`
	// Changed names the files that are not as the job left them. A message may have nothing else.
	// In is the copy that they are in, for agents that work there; "" is the job's directory.
	Changed string `json:"changed,omitempty"`
	In      string `json:"in,omitempty"`
}

// compactOnly reports that the message asks the model nothing.
func (m *Message) compactOnly() bool {
	return m.Compact && m.Text == "" && m.Model == "" && len(m.Attachments) == 0
}

// readMessages takes the messages that were sent to the run. A run that has ended
// as done or stuck goes on if there is one. A sub-agent, and the agent of a workflow, takes
// what is reported about the directory that it works in, which is nothing before it has done
// anything.
func (t *Task) readMessages(r *flow.Run, s *State) error {
	name := turn.MessageSignal
	if !t.Messages {
		if name = t.Changes; name != "" && t.Revision < turn.ChangesByPath {
			name = turn.MessageSignal + "@" + t.At // as their journals have it
		}
	}
	if name == "" || s.WrapUp != nil || s.Outcome != nil && !s.Outcome.continuesOnMessage() {
		return nil
	}
	sent, err := flow.Drain(r, name, s.Read)
	if err != nil {
		return err
	}
	s.Read += len(sent)
	compacts := false
	for _, sig := range sent {
		var m Message
		if err := stored.Decode(sig.Value, &m); err != nil {
			return fmt.Errorf("signal %s: decoding: %w", sig.Name, err)
		}
		compacts = compacts || m.Compact
		if m.compactOnly() || !t.Messages && (s.Turns == 0 || m.In != t.At) {
			continue
		}
		if s.Ended = nil; s.Outcome != nil {
			s.clearOutcome()
		}
		if m.Model != "" {
			s.switchModel(t, &pickedModel{m.Model, m.Window, m.Stated, m.Guess, m.Price})
		}
		notice, err := s.setMode(r, t, m.Mode)
		if err != nil {
			return err
		}
		if m.Anew {
			s.resetLimits(t.Limits, m.Limits)
		}
		if m.Text != "" || len(m.Attachments) > 0 || m.Changed != "" {
			s.Taint |= m.Taint
			said := m.To(m.Text)
			if m.Changed != "" {
				said.Text = strings.TrimPrefix(said.Text+"\n\n["+m.Changed+"]", "\n\n")
			}
			said.Text += notice
			s.addMessage(said)
		}
	}
	if !compacts {
		return nil
	}
	before := s.Context.Compactions
	if err := compactOnRequest(r, t, s); err != nil || s.Context.Compactions == before || s.Outcome != nil || t.Revision < keepsCompactions {
		return err // of a run with an outcome, the checkpoint is about to be made
	}
	if err := flow.Save(r, s); err != nil {
		return err
	}
	return t.readMessages(r, s) // as a run does that goes on from there
}

// addMessage adds a person's words to what the model has not been sent. The
// templates of some models refuse two messages of the user in a row.
func (s *State) addMessage(m llm.Message) {
	s.Compacted, s.Refused = false, false
	s.Asked = append(slices.Clip(s.Asked), m)
	if last := len(s.New) - 1; s.reminded() {
		s.New = slices.Clone(s.New)
		s.New[last].Text += "\n\n" + m.Text
		s.New[last].Images = slices.Concat(s.New[last].Images, m.Images)
		return
	}
	s.New = append(s.New, m)
}

// clearOutcome makes an ended run go on: its further work is judged anew.
func (s *State) clearOutcome() {
	if s.Outcome != nil && s.Outcome.Succeeded() {
		s.Asked = nil
	}
	s.Outcome, s.WrapUp, s.Claim, s.RequireCall, s.Unapplied = nil, nil, nil, false, nil
	s.Rejects, s.Empty, s.AskedBack, s.Recent, s.LastReminder, s.Failing, s.Warned, s.Malformed, s.Misread = 0, 0, "", nil, 0, nil, nil, 0, 0
}

// resetLimits gives the run its limits anew, and makes only later calls count as
// evidence.
func (s *State) resetLimits(task, given Limits) {
	l, used := given.Or(task).Or(DefaultLimits), s.used()
	if l.Turns > 0 {
		l.Turns += used.Turns
	}
	if l.Tokens > 0 {
		l.Tokens += used.Tokens
	}
	if l.CostUSD > 0 {
		l.CostUSD += used.CostUSD
	}
	if l.Time > 0 {
		l.Time += used.Time
	}
	s.Raised = Limits{Turns: l.Turns, Tokens: l.Tokens, CostUSD: l.CostUSD, Time: l.Time}
	s.LimitedCalls, s.Warned = nil, nil
	s.Earlier = maps.Clone(s.Called)
}

// switchModel has the run go on with another model.
func (s *State) switchModel(t *Task, c *pickedModel) {
	s.Attribute(t.Model)
	s.Model, s.Fallback, s.ModeFailures = c, 0, nil
	s.Context.ChangeModel()
	t.useModel(c)
}

// modeNotices are the notices to a model when a message sets a mode.
var modeNotices = map[Mode]string{
	ModePlan:  "[The mode is now plan: change nothing and run no commands that change anything. Read what you need, and answer with the plan.]",
	ModeEdits: "[The mode is now edits: you may change files, and the user is asked about commands.]",
	ModeAuto:  "[The mode is now auto: you may change files and run commands.]",
}

// setMode has the run go on in another mode, and returns what the model is shown of it, ""
// if the mode is the one that the run has.
func (s *State) setMode(r *flow.Run, t *Task, mode Mode) (string, error) {
	now := cmp.Or(t.Mode, ModeEdits)
	if mode == "" || mode == now {
		return "", nil
	}
	narrows := slices.Index(Modes, mode) < slices.Index(Modes, now) // each call is judged by the mode, whatever the task has for it
	if _, ok := t.Modes[mode]; !ok && !narrows && (t.begun == nil || mode != cmp.Or(t.begun.mode, ModeEdits)) {
		return "", r.Note("the mode stays %s: the job cannot be in mode %s", now, mode)
	}
	if s.Mode = mode; !slices.Contains(s.Modes, mode) {
		s.Modes = append(slices.Clip(s.Modes), mode)
	}
	t.useMode(s)
	t.prepareJudging(s)
	return "\n\n" + modeNotices[mode], nil
}

// useMode has the task work in the mode that a message has set, if one has. Its tools stay
// what they were: those that a mode adds stay behind them, and the mode decides about each call.
func (t *Task) useMode(s *State) {
	if s.Mode == "" {
		return
	}
	if t.begun == nil {
		t.begun = &begun{t.Mode, t.Work}
	}
	t.Mode, t.Work = s.Mode, t.begun.Work
	if w, ok := t.Modes[s.Mode]; ok {
		t.Checks, t.Done, t.PlanOnly = w.Checks, w.Done, w.PlanOnly
	} else if s.Mode == ModePlan && t.begun.mode != ModePlan {
		t.Checks, t.Done, t.PlanOnly = nil, Criterion{}, true
	}
	t.Tools = slices.Clone(t.Tools)
	for _, m := range s.Modes {
		for _, tool := range t.Modes[m].Tools {
			if !slices.ContainsFunc(t.Tools, func(x Tool) bool { return x.Name == tool.Name }) {
				t.Tools = append(t.Tools, tool)
			}
		}
	}
}

// useModel has the task ask the model that a person has picked, if one was.
func (t *Task) useModel(c *pickedModel) {
	if c == nil {
		return
	}
	prices := maps.Clone(t.Prices)
	if prices == nil {
		prices = llm.Prices{}
	}
	prices[t.Model] = t.Price
	t.Model, t.Options.Window, t.Price, t.Prices, t.Fallbacks = c.Model, c.Window, c.Price, prices, nil
	if c.Stated > 0 && t.Budget != nil {
		b := *t.Budget
		b.Window, b.Guess = c.Stated, c.Guess
		t.Budget = &b
	}
}

// An Attachment is a person's attachment to a message: a file or directory of the
// workspace, lines of a file, an image, or a page of the web. It is read once, into Text
// or Image, when the message is taken: later changes of the file have no effect.
type Attachment struct {
	Path string `json:"path,omitempty"` // in the workspace, or what Data is to be called
	From int    `json:"from,omitempty"` // the first of the lines that are meant, from 1; 0 for all
	To   int    `json:"to,omitempty"`   // the last of them; 0 for the rest
	URL  string `json:"url,omitempty"`  // in place of Path
	Data []byte `json:"data,omitempty"` // of an image that is not in the workspace

	// Buffer is the text that an editor has of the file at Path, in place of what is saved.
	Buffer *string `json:"buffer,omitempty"`

	Text  string     `json:"text,omitempty"`
	Image *llm.Image `json:"image,omitempty"`
}

// Attached lists what goes with a person's words.
type Attached struct {
	// Notes are paragraphs that the program in which the person types puts before the words,
	// such as the output of a command that they ran. The model reads them as if they were
	// typed; people see them as notes.
	Notes string `json:"notes,omitempty"`
	// Mentions are words that a person has typed, in which @PATH, @PATH:10-40 and
	// @https://... attach what they name. Text from elsewhere has no place in it.
	Mentions    string       `json:"mentions,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
}

// To returns a person's message with this text, behind the notes and followed by the attachments.
func (a Attached) To(text string) llm.Message {
	m := llm.Message{Role: llm.User}
	var parts []string
	if a.Notes != "" {
		parts = append(parts, a.Notes)
	}
	if text = strings.TrimSpace(text); text != "" {
		parts = append(parts, text)
	}
	for _, at := range a.Attachments {
		switch {
		case at.Image != nil:
			m.Images = append(m.Images, *at.Image)
			parts = append(parts, at.Image.String())
		case at.Text != "":
			parts = append(parts, at.Text)
		}
	}
	m.Text = strings.Join(parts, "\n\n")
	return m
}
