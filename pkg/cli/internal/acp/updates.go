package acp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"

	sdk "github.com/coder/acp-go-sdk"
)

// A translator turns the events of a job into updates of a session. Its methods are
// called by one goroutine.
type translator struct {
	to        func(sdk.SessionUpdate)
	diff      func(step string) []fileDiff
	kinds     func() map[string]sdk.ToolKind
	dir       string
	elsewhere bool     // a question was answered by another surface
	replay    bool     // events of earlier turns, not of this one
	sent      []string // messages of this editor, which it shows itself

	answers map[string]*strings.Builder // of the model, by step, as far as they were sent
	text    strings.Builder             // all of them
	talking bool                        // the last update was a piece of text
	open    []string                    // calls that have not ended
	asked   askedCall
	below   []subAgent        // at work
	context int               // tokens of the last request and its answer
	window  int               // of the model, 0 if that is not known
	doing   map[string]string // what the calls that run have shown, by step
}

// An askedCall is a call that waits for the person: it runs as another step.
type askedCall struct{ id, name, runs string }

type subAgent struct{ scope, name string }

// maxShown bounds the text of a tool's result that an editor is sent.
const maxShown = 16 << 10

func (s *server) translator(ses *session) *translator {
	return &translator{
		to: func(u sdk.SessionUpdate) { s.update(ses, u) },
		diff: func(step string) []fileDiff {
			d, err := s.c.Diff(s.ctx, ses.job, adroit.Selection{Step: step})
			if err != nil {
				return nil // it changed nothing
			}
			return splitDiff(d.Diff)
		},
		kinds: s.kinds, dir: ses.dir, answers: map[string]*strings.Builder{}, doing: map[string]string{}, window: ses.window,
	}
}

func (t *translator) user(text string) {
	if text != "" {
		t.send(sdk.UpdateUserMessageText(text))
	}
}

func (t *translator) send(u sdk.SessionUpdate) {
	t.talking = false
	t.to(u)
}

// write shows a piece of text; one that begins a paragraph is apart from the text
// before it.
func (t *translator) write(text string, begins bool) {
	t.text.WriteString(text)
	if begins && t.talking {
		text = "\n\n" + text
	}
	t.to(sdk.UpdateAgentMessageText(text))
	t.talking = true
}

// say shows text of the model, or of the program in its place.
func (t *translator) say(text string) { t.write(text, true) }

// shownText returns the model's text as far as the person has seen it.
func (t *translator) shownText() string { return t.text.String() }

// event shows one event. Those of sub-agents are not shown one by one.
func (t *translator) event(ev event.Event) {
	switch {
	case ev.Kind == event.AgentStarted && !t.inner(ev.Path):
		t.below = append(t.below, subAgent{ev.Path, ev.Name})
		t.send(sdk.StartToolCall(sdk.ToolCallId(ev.Path), strings.TrimSpace(ev.Name+" "+ev.Text), sdk.WithStartKind(sdk.ToolKindThink), sdk.WithStartStatus(sdk.ToolCallStatusInProgress)))
	case ev.Kind == event.AgentFinished:
		t.agentFinished(ev)
	case t.inner(ev.Path):
	case ev.Kind == event.Delta:
		t.delta(ev)
	case ev.Step == turn.ToolStep && t.plan(ev):
	case ev.Kind == event.StepStarted && ev.Step == turn.ToolStep:
		t.begin(ev)
	case ev.Kind == event.StepFinished && ev.Step == turn.ToolStep:
		t.finish(ev)
	case ev.Kind == event.StepFinished && ev.Step == turn.ModelStep:
		t.answer(ev)
	case ev.Kind == event.StepFinished && ev.Step == flow.KindAwait:
		t.message(ev)
	}
}

// inner reports whether a step is one of a sub-agent.
func (t *translator) inner(path string) bool {
	return slices.ContainsFunc(t.below, func(a subAgent) bool { return strings.HasPrefix(path, a.scope+".") })
}

func (t *translator) agentFinished(ev event.Event) {
	for i, a := range slices.Backward(t.below) {
		if a.name == ev.Name {
			t.below = slices.Delete(t.below, i, i+1)
			t.send(sdk.UpdateToolCall(sdk.ToolCallId(a.scope), sdk.WithUpdateStatus(sdk.ToolCallStatusCompleted), sdk.WithUpdateContent(textContent(ev.Text))))
			return
		}
	}
}

// delta shows a piece of an answer, or of the model's thinking.
func (t *translator) delta(ev event.Event) {
	var d struct{ Thinking, Waiting bool }
	_ = json.Unmarshal(ev.Data, &d) // none: it is text
	switch {
	case ev.Step == turn.ToolStep:
		t.progress(ev)
	case ev.Step != turn.ModelStep || d.Waiting:
	case d.Thinking:
		t.send(sdk.UpdateAgentThoughtText(ev.Text))
	default:
		b := t.answers[ev.Path]
		if b == nil {
			b = new(strings.Builder)
			t.answers[ev.Path] = b
		}
		t.write(ev.Text, b.Len() == 0)
		b.WriteString(ev.Text)
	}
}

// progress reports a call in progress: its command, and the end of its output so far.
func (t *translator) progress(ev event.Event) {
	if !slices.Contains(t.open, ev.Path) || ev.Name == "todo" {
		return // it has ended, or is not shown
	}
	opts := []sdk.ToolCallUpdateOpt{sdk.WithUpdateStatus(sdk.ToolCallStatusInProgress)}
	if bytes.Equal(ev.Data, turn.CommandDelta) {
		t.send(sdk.UpdateToolCall(t.id(ev.Path), append(opts, sdk.WithUpdateTitle(ev.Name+" "+oneLine(ev.Text)))...))
		return
	}
	text := t.doing[ev.Path] + ev.Text
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[len(text)-maxShown:], "")
	}
	t.doing[ev.Path] = text
	t.send(sdk.UpdateToolCall(t.id(ev.Path), append(opts, sdk.WithUpdateContent(textContent(text)))...))
}

// answer sends the rest of an answer that its pieces did not contain: pieces may be lost.
func (t *translator) answer(ev event.Event) {
	var d struct {
		Text  string
		Usage struct{ In, Out int }
	}
	if json.Unmarshal(ev.Data, &d) != nil {
		return
	}
	t.context = d.Usage.In + d.Usage.Out
	t.usage(0)
	shown := ""
	if b := t.answers[ev.Path]; b != nil {
		shown = b.String()
	}
	switch rest, ok := strings.CutPrefix(d.Text, shown); {
	case strings.TrimSpace(d.Text) == "" || strings.TrimSpace(d.Text) == strings.TrimSpace(shown):
	case ok && shown != "":
		t.write(rest, false)
	default:
		t.say(d.Text)
	}
}

// usage reports how full the context window is, and the job's cost so far.
func (t *translator) usage(cost float64) {
	if t.window == 0 || t.context == 0 || t.replay {
		return
	}
	u := &sdk.SessionUsageUpdate{SessionUpdate: "usage_update", Size: t.window, Used: t.context}
	if cost > 0 {
		u.Cost = &sdk.Cost{Amount: cost, Currency: "USD"}
	}
	t.to(sdk.SessionUpdate{UsageUpdate: u})
}

// message shows the message of somebody else to the job, or each in a replay.
func (t *translator) message(ev event.Event) {
	var sig flow.Signal
	var m executor.Message
	if json.Unmarshal(ev.Data, &sig) != nil || sig.Name != turn.MessageSignal || json.Unmarshal(sig.Value, &m) != nil {
		return
	}
	if i := slices.Index(t.sent, m.Text); i >= 0 {
		t.sent = slices.Delete(t.sent, i, i+1)
		return
	}
	if m.Text != "" {
		t.user(m.Text)
	}
}

// plan shows the list of tasks that a call of todo gives, and not the call. It
// reports whether that is all to show of the event: a call that a person was asked
// about is shown, too.
func (t *translator) plan(ev event.Event) bool {
	if ev.Name != "todo" {
		return false
	}
	if list, ok := control.TodoList(ev); ok {
		entries := []sdk.PlanEntry{}
		for _, it := range list {
			entries = append(entries, sdk.PlanEntry{Content: it.Content, Priority: sdk.PlanEntryPriorityMedium, Status: sdk.PlanEntryStatus(it.Status)})
		}
		t.send(sdk.UpdatePlan(entries...))
	}
	return t.asked.name != ev.Name
}

// id returns the editor's id for the call of a step.
func (t *translator) id(path string) sdk.ToolCallId {
	if t.asked.runs == path {
		return sdk.ToolCallId(t.asked.id)
	}
	return sdk.ToolCallId(path)
}

func (t *translator) kind(tool string) sdk.ToolKind {
	if k, ok := t.kinds()[tool]; ok {
		return k
	}
	return sdk.ToolKindOther
}

func (t *translator) begin(ev event.Event) {
	if t.asked.id != "" && t.asked.name == ev.Name && t.asked.runs == "" {
		t.drop(t.asked.id)
		t.asked.runs = ev.Path // a person has answered
		t.open = append(t.open, ev.Path)
		t.send(sdk.UpdateToolCall(t.id(ev.Path), sdk.WithUpdateStatus(sdk.ToolCallStatusInProgress)))
		return
	}
	t.open = append(t.open, ev.Path)
	t.send(sdk.StartToolCall(t.id(ev.Path), ev.Name, sdk.WithStartKind(t.kind(ev.Name)), sdk.WithStartStatus(sdk.ToolCallStatusInProgress)))
}

// finish reports the result of a call.
func (t *translator) finish(ev event.Event) {
	var d struct {
		Args   json.RawMessage
		Failed bool
		Asks   bool
		Text   string
	}
	_ = json.Unmarshal(ev.Data, &d) // of a step that failed there is only the error
	title, where := t.about(ev.Name, d.Args)
	id, opts := t.id(ev.Path), []sdk.ToolCallUpdateOpt{sdk.WithUpdateTitle(title)}
	if len(d.Args) > 0 {
		opts = append(opts, sdk.WithUpdateRawInput(d.Args))
	}
	t.open = slices.DeleteFunc(t.open, func(p string) bool { return p == ev.Path })
	delete(t.doing, ev.Path)
	if d.Asks {
		t.asked = askedCall{id: string(id), name: ev.Name}
		t.open = append(t.open, ev.Path)
		t.send(sdk.UpdateToolCall(id, append(opts, sdk.WithUpdateStatus(sdk.ToolCallStatusPending))...))
		return
	}
	status, text := sdk.ToolCallStatusCompleted, d.Text
	if d.Failed || ev.Error != "" {
		status = sdk.ToolCallStatusFailed
	}
	text = cmp.Or(text, ev.Error+ev.Text)
	var content []sdk.ToolCallContent
	if t.kind(ev.Name) != sdk.ToolKindRead && status == sdk.ToolCallStatusCompleted {
		for _, f := range t.diff(ev.Path) {
			file := filepath.Join(t.dir, filepath.FromSlash(f.path))
			if f.old == "" {
				content = append(content, sdk.ToolDiffContent(file, f.new))
			} else {
				content = append(content, sdk.ToolDiffContent(file, f.new, f.old))
			}
			where = append(where, sdk.ToolCallLocation{Path: file, Line: sdk.Ptr(f.line)})
		}
	}
	if len(content) == 0 {
		content = textContent(text)
	}
	if len(where) > 0 {
		opts = append(opts, sdk.WithUpdateLocations(where))
	}
	t.send(sdk.UpdateToolCall(id, append(opts, sdk.WithUpdateStatus(status), sdk.WithUpdateContent(content))...))
	if t.asked.runs == ev.Path {
		t.asked = askedCall{}
	}
}

// about is a call on a line, and the files that it names.
func (t *translator) about(name string, args json.RawMessage) (title string, where []sdk.ToolCallLocation) {
	var a map[string]any
	_ = json.Unmarshal(args, &a) // none: its name says it
	for _, key := range []string{"path", "file", "command", "query", "pattern", "url", "name"} {
		text, ok := a[key].(string)
		if !ok || text == "" {
			continue
		}
		if (key == "path" || key == "file") && filepath.IsLocal(text) {
			where = append(where, sdk.ToolCallLocation{Path: filepath.Join(t.dir, text)})
		}
		if title == "" {
			title = name + " " + oneLine(text)
		}
	}
	title = cmp.Or(title, name)
	return title, where
}

func oneLine(text string) string {
	const most = 120
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

func textContent(text string) []sdk.ToolCallContent {
	if text == "" {
		return nil
	}
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(text))}
}

// end reports the calls that have not ended: the turn was interrupted.
func (t *translator) end() {
	for _, path := range t.open {
		if t.asked.id == path && t.replay {
			continue // its question still waits
		}
		t.send(sdk.UpdateToolCall(t.id(path), sdk.WithUpdateStatus(sdk.ToolCallStatusFailed), sdk.WithUpdateContent(textContent("interrupted"))))
	}
	t.open = nil
}
