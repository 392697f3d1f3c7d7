package executor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Codes of the failures around compaction.
const (
	tooBig     = "context.full" // what must be kept does not fit
	tooLong    = "model." + string(llm.TooLong)
	overloaded = "model." + string(llm.Overloaded)
	compactMax = 20 // compactions of a job, beside one in two turns
)

// keepsCompactions is the first revision that checkpoints the result of a compaction.
const keepsCompactions = 9

// keepsRefusals is the first revision that does so after a refusal, too.
const keepsRefusals = 11

// errCompacted reports that a refused request was made smaller and is to be asked anew.
var errCompacted = errors.New("the conversation was compacted")

// compactFirst makes the next request small enough, if necessary, and saves the result in
// a checkpoint: a message that then redirects the run leaves it unchanged. It reports
// whether it did; the run then continues as usual.
func (t *Task) compactFirst(r *flow.Run, s *State) (bool, error) {
	if t.Revision < keepsCompactions || s.Compacted {
		return false, nil
	}
	before := s.Context.Compactions
	if err := compactIfNeeded(r, t, s); err != nil || s.Context.Compactions == before {
		return false, err
	}
	s.Compacted = true
	return true, flow.Save(r, s)
}

// compactIfNeeded makes the next request small enough, if it has to be.
func compactIfNeeded(r *flow.Run, t *Task, s *State) error {
	if t.Budget == nil {
		return nil
	}
	need, limit := s.need(t), t.limit(s)
	s.Context.Limit = limit
	if limit == 0 || need <= limit {
		return nil
	}
	return compact(r, t, s, compactGoal{limit: limit})
}

// compactOnRequest makes a conversation smaller because a person asks for it,
// though it fits: to a quarter of what can be left out. What keeps it from that is
// in the log, and no failure of the run.
func compactOnRequest(r *flow.Run, t *Task, s *State) error {
	if model, _ := t.modelAt(s.Fallback); t.Budget == nil || s.Turns == 0 || extagent.IsAgent(model) {
		return nil
	}
	need := s.need(t)
	fixed := s.Context.Beginning(s.opening(t, nil, s.asked(t)))
	err := compact(r, t, s, compactGoal{limit: cmp.Or(t.limit(s), need), target: fixed + max(need-fixed, 0)/4})
	if _, failed := errors.AsType[*flow.StepError](err); failed {
		return nil
	}
	return err
}

// A compactGoal is the size that a conversation has to shrink to, in tokens.
type compactGoal struct {
	limit   int  // that fit
	target  int  // to get down to; 0 is what keeps the next one some turns away
	refused bool // the provider has refused what there is
}

// compactAfterRefusal makes a request smaller that the provider refused as too long: our
// tokens are too few, or the window is smaller than was thought.
func compactAfterRefusal(r *flow.Run, t *Task, s *State, cause error) error {
	named := 0
	if se, ok := errors.AsType[*flow.StepError](cause); ok {
		named = se.Failure.Limit
	}
	s.Context.Learn(s.need(t), t.knownWindow(s), named)
	limit := t.limit(s)
	s.Context.Limit = limit
	err := compact(r, t, s, compactGoal{limit: limit, refused: true})
	if full, ok := errors.AsType[*flow.StepError](err); ok && full.Code == tooBig {
		full.Message += "; the provider said: " + stepMessage(cause)
	}
	return err
}

// refused reports whether a model step failed because its request was too long.
func refused(err error) bool {
	se, ok := errors.AsType[*flow.StepError](err)
	return ok && se.Code == tooLong
}

// leastOverflow is a request in tokens that is too small for any window.
const leastOverflow = 2048

// mayOverflow reports whether a refusal for a reason that nobody recognises may be one of a
// request that was too long: it was at least half of the window, or the window is a guess.
func (t *Task) mayOverflow(s *State, err error) bool {
	se, ok := errors.AsType[*flow.StepError](err)
	// A fault has numbers, and did not go away when the request was repeated.
	unknown := ok && (se.Code == turn.Unexplained || se.Code == overloaded && se.Failure.Limit > 0)
	if !unknown || t.Budget == nil || s.Turns == 0 {
		return false
	}
	need, window := s.need(t), t.knownWindow(s)
	return need >= leastOverflow && (window == 0 || need*2 >= window)
}

// tooManyBytes reports whether a request was refused for its size in bytes, and can be made smaller.
func (t *Task) tooManyBytes(s *State, err error) bool {
	se, ok := errors.AsType[*flow.StepError](err)
	return ok && se.Code == turn.TooManyBytes && t.Budget != nil && s.Turns > 0
}

// explained gives the failure of a model step the code that others know.
func explained(err error) error {
	if se, ok := errors.AsType[*flow.StepError](err); ok {
		switch se.Code {
		case turn.Unexplained:
			se.Code = "model." + string(llm.BadRequest)
		case turn.TooManyBytes:
			se.Code = tooLong
		}
	}
	return err
}

// restore undoes a compaction; its cost stays.
func (s *State) restore(before *State) {
	n := s.Context.Compactions
	s.Head, s.New, s.Notes, s.Context = before.Head, before.New, before.Notes, before.Context
	s.OfferedTools, s.ShownDirs, s.Shown, s.Context.Compactions = before.OfferedTools, before.ShownDirs, before.Shown, n
}

// compact replaces the conversation by a smaller one: results that are of no
// use any more go first, then notes take the place of earlier turns. It is
// done at most once before a request and once after a refusal. The asks so far stay where they are; the conversation
// goes on with a chain of its own.
func compact(r *flow.Run, t *Task, s *State, goal compactGoal) error {
	g, limit, refused := &s.Context, goal.limit, goal.refused
	if g.Compactions >= compactMax+s.Turns/2 {
		return t.full(r, s, fmt.Sprintf("the conversation was compacted %d times in %d turns and is too long again", g.Compactions, s.Turns))
	}
	g.Compactions++
	g.In, g.Out = 0, 0
	before, asked := *s, s.asked(t)
	fixed := func(n *turn.Notes) int { return g.Beginning(s.opening(t, n, asked)) }
	// So that the next one is some turns away, however much is kept in any case.
	target := cmp.Or(goal.target, max(limit*7/10, min(limit, fixed(nil)+max(limit-fixed(nil), 0)/2)))
	in := turn.CompactRequest{Head: s.Head, New: s.New, Asked: asked, Fixed: fixed(s.Notes), Target: target, Limit: limit, Refused: refused, Rate: g.PerToken(), Handle: t.tool(turn.ReadResult) != nil}
	out, err := stored.Do[turn.CompactResult](r, turn.CompactStep, turn.CompactResults, in)
	if err != nil {
		return err
	}
	s.compacted(t, out)
	if refused {
		in.Target, in.Limit, in.Refused = turn.Reduce(in.Target, out.Before, 6), turn.Reduce(limit, out.Before, 8), false
		limit = in.Limit
	}
	if out.After > in.Target && (asked == nil || fixed(nil) <= limit) {
		in.Head, in.New, in.Task, in.Notes = "", out.Messages, t.with(asked), s.Notes
		model, window := t.modelAt(s.Fallback)
		in.Window = window
		if t.Budget.Cheap != "" {
			model = t.Budget.Cheap
		}
		next, err := stored.Do[turn.CompactResult](r, turn.CompactStep, turn.CompactSummary+" "+model, in)
		if _, poor := errors.AsType[*flow.StepError](err); poor {
			next, err = stored.Do[turn.CompactResult](r, turn.CompactStep, turn.CompactRecord, in)
		}
		if err != nil {
			return err
		}
		s.compacted(t, next)
		out = next
	}
	if out.After > limit {
		s.restore(&before)
		if n := t.leaveOut(s, limit); n > 0 {
			if err := r.Note("a message of %s bytes does not fit the model and is left out but for its beginning and end", turn.Thousands(n)); err != nil {
				return err
			}
			return compactIfNeeded(r, t, s)
		}
		prompt := g.Beginning(s.opening(t, nil, nil))
		figures := fmt.Sprintf("about %d tokens are needed, %d of them for the prompt and the tools", out.After, prompt)
		if asked != nil {
			figures += fmt.Sprintf(", %d for what was asked last", fixed(nil)-prompt)
		}
		return t.full(r, s, fmt.Sprintf("%s, and %d fit", figures, limit))
	}
	s.Head, s.New = "", append(s.opening(t, s.Notes, turn.Missing(asked, out.Messages)), out.Messages...)
	s.OfferedTools, s.ShownDirs, s.Shown = "", nil, nil
	g.Tokens, g.Weight = 0, 0
	return nil
}

// compacted records the result of a compaction in the state.
func (s *State) compacted(t *Task, out turn.CompactResult) {
	g := &s.Context
	g.Dropped += out.Dropped
	g.Shortened += out.Shortened
	g.Summarised += out.Turns
	if out.Model != "" {
		s.addUsage(t, out.Model, out.Usage)
	}
	s.Elapsed += out.Took
	if out.Notes != nil {
		s.Notes = out.Notes
	}
}

// opening are the messages that every request begins with: the system prompt, the task with
// what is asked beside it, then what stands for the turns that were left out.
func (s *State) opening(t *Task, n *turn.Notes, asked []llm.Message) []llm.Message {
	m := llm.Message{Role: llm.User, Text: t.with(asked), Images: t.Images}
	for _, a := range asked {
		m.Images = slices.Concat(m.Images, a.Images)
	}
	if n != nil {
		m.Text += "\n\n" + n.Text()
	}
	if held := s.listArtifacts(t); s.Turns > 0 && held != "" {
		m.Text += "\n\n" + held
	}
	return []llm.Message{{Role: llm.System, Text: t.System}, m}
}

// with is the task's prompt and what is asked beside it.
func (t *Task) with(asked []llm.Message) string {
	parts := []string{t.Prompt}
	for _, a := range asked {
		parts = append(parts, a.Text)
	}
	return strings.Join(parts, "\n\n")
}

// asked is what the run is asked beside its task and has not done.
func (s *State) asked(t *Task) []llm.Message {
	if t.Revision < keepsRefusals {
		return nil
	}
	return s.Asked
}

// saveFull makes the end of a run whose conversation does not fit a checkpoint: the next message
// is then read before the request is made again.
func (t *Task) saveFull(r *flow.Run, s *State) error {
	if s.Outcome.Code != tooBig || t.Revision < keepsRefusals {
		return nil
	}
	return flow.Save(r, s)
}

// leastOmitted is the size in bytes above which a message may be left out.
const leastOmitted = 2000

// leaveOut cuts the longest of the messages before the last of a conversation, so that none
// which does not fit keeps it from going on. It returns the number of bytes that it had, 0 if
// the last alone does not fit.
func (t *Task) leaveOut(s *State, limit int) int {
	last := len(s.asked(t)) - 1
	if !t.Messages || last < 0 || s.Context.Beginning([]llm.Message{{Text: t.System}, s.Asked[last]}) > limit {
		return 0
	}
	s.Asked, s.New = slices.Clone(s.Asked), slices.Clone(s.New)
	longest := &t.Prompt
	for i := range s.Asked[:last] {
		if a := &s.Asked[i].Text; len(*a) > len(*longest) {
			longest = a
		}
	}
	n := len(*longest)
	if n <= leastOmitted {
		return 0
	}
	cut := turn.HeadAndTail(*longest, leastOmitted/8, leastOmitted/8, " They do not fit the model.")
	for i := range s.New {
		s.New[i].Text = strings.Replace(s.New[i].Text, *longest, cut, 1)
	}
	if longest == &t.Prompt {
		s.CutPrompt = cut
	}
	*longest = cut
	return n
}

// full returns the failure of a run whose conversation cannot be made to fit.
func (t *Task) full(r *flow.Run, s *State, figures string) error {
	window, next := "the context window is not known", ""
	if t.Messages && t.Revision >= keepsRefusals {
		next = "; or send another message, for which the longest before it is cut"
	}
	if w := s.Context.Window; w > 0 {
		window = fmt.Sprintf("the provider says that %d tokens fit", w)
	} else if w := t.window(s.Fallback); w > 0 {
		window = fmt.Sprintf("the context window has %d tokens", w)
		if _, asked := t.modelAt(s.Fallback); asked == 0 && t.Budget.Guess {
			window += " by a guess that windows: in the configuration can correct"
		}
	}
	return &flow.StepError{Path: r.Next(), Kind: turn.CompactStep, Failure: flow.Failure{Code: tooBig,
		Message: "the conversation does not fit the model: " + figures + "; " + window +
			"; take a model with a larger window, give the agent fewer tools or a shorter prompt, or split the task" + next}}
}

// ask has one model turn and takes it into the state. What would not fit is
// made smaller first, or after the provider has refused it. A model that cannot
// answer is followed by the one behind it.
func ask(r *flow.Run, t *Task, s *State) (llm.Message, error) {
	if t.Revision < keepsCompactions {
		if err := compactIfNeeded(r, t, s); err != nil {
			return llm.Message{}, err
		}
	}
	a := newRequest(t, s)
	var whole *State // before it was compacted for a refusal that nobody recognises
	for compacted := s.Refused; ; {
		a.Model, a.Options.Window = t.modelAt(s.Fallback)
		a.Chain = turn.Chain{Backed: s.Fallback < len(t.Fallbacks), Hedge: t.Hedge}
		a.Grant = t.agentGrant(s, a.Model)
		answer, head, err := stored.DoKeep[turn.ModelResponse](r, turn.ModelStep, a.Model, a)
		if err == nil {
			answer.Ref, answer.Grant = a.Model, a.Grant
			return s.addResponse(t, answer, head, a.HideTools), nil
		}
		switch again, noted := t.retry(r, s, &a, err); {
		case noted != nil:
			return llm.Message{}, noted
		case again:
		case whole != nil: // it was not the length: what was left out stays for the next time
			s.restore(whole)
			return llm.Message{}, explained(err)
		case !compacted && (t.mayOverflow(s, err) || t.tooManyBytes(s, err)) && !extagent.IsAgent(a.Model):
			before := *s
			cerr := compact(r, t, s, compactGoal{limit: cmp.Or(t.limit(s), s.need(t)), refused: true})
			if _, failed := errors.AsType[*flow.StepError](cerr); failed {
				s.restore(&before)
				return llm.Message{}, explained(err)
			} else if cerr != nil {
				return llm.Message{}, cerr
			}
			a, compacted, whole = newRequest(t, s), true, &before
			why := "for a reason that is not known"
			if t.tooManyBytes(s, err) {
				why = "for its size in bytes"
			}
			if err := r.Note("the model's server refuses the request %s; it is asked once more with a shorter conversation", why); err != nil {
				return llm.Message{}, err
			}
		case !refused(err):
			return llm.Message{}, explained(err)
		case compacted:
			return llm.Message{}, t.full(r, s, "the provider refuses what is left of it, too: "+stepMessage(err))
		case t.Budget == nil || extagent.IsAgent(a.Model):
			return llm.Message{}, err
		default:
			if err := compactAfterRefusal(r, t, s, err); err != nil {
				return llm.Message{}, err
			}
			if t.Revision >= keepsRefusals {
				s.Compacted, s.Refused = true, true
				return llm.Message{}, errCompacted
			}
			a, compacted = newRequest(t, s), true
		}
	}
}

// newRequest builds the next request to the model.
func newRequest(t *Task, s *State) turn.ModelRequest {
	a := turn.ModelRequest{Head: s.Head, New: s.New, Model: t.Model, Options: t.Options, Output: t.Output, HideTools: s.WrapUp != nil || t.turn.none, RequireCall: s.RequireCall && s.WrapUp == nil, At: t.At, Compacted: s.Context.Summarised,
		CallMode: t.CallMode, ModeFailures: s.ModeFailures}
	if offered := t.offered(s); offered.names != s.OfferedTools && (!a.HideTools || t.Revision > 0) {
		a.Tools, s.OfferedTools = offered.specs, offered.names
	}
	if s.WrapUp != nil && t.Revision > 0 {
		a.Output = nil // the last words are for a person; a schema would push out the tools
	}
	t.ration(s, &a.Options)
	return a
}

// addResponse adds an answer to the accounts and returns it as the history has
// it. head names the conversation that it answers.
func (s *State) addResponse(t *Task, answer turn.ModelResponse, head string, wrapUp bool) llm.Message {
	if t.Budget != nil && answer.Work == nil {
		s.Context.Count(s.Context.Weight+turn.Weigh(s.New...), s.need(t), answer.Usage.In)
		s.Context.In, s.Context.Out = answer.Usage.In, answer.Usage.Out
	}
	s.Head, s.New = head, nil
	s.Read, s.Compacted, s.Refused = 0, false, false
	s.Turns++
	s.addUsage(t, answer.Ref, answer.Usage)
	s.addCosts(t, answer.ModelCosts)
	s.Elapsed += answer.Took
	s.RequireCall = false
	s.noteCallMode(t, &answer)
	s.readFeedback(&answer)
	s.addAgentWork(t, &answer)
	if wrapUp {
		// A call in the last words would run after the run was stopped.
		answer.Message.Calls = nil
	}
	said := s.cleanMessage(answer.Message, s.CallsBefore+lastCall(t.History))
	if t.Revision >= keepsThinking {
		said.Thinking = tailOf(answer.Message.Thinking, mostThinking)
	}
	return said
}

// cleanMessage makes an answer fit for the history of any provider: ids unique
// within the run, nine letters and digits as the strictest wants them; no
// thoughts of the past. Those of calls count on from before.
func (s *State) cleanMessage(m llm.Message, before int) llm.Message {
	out := llm.Message{Role: llm.Assistant, Text: strings.TrimSpace(strings.ToValidUTF8(m.Text, "\uFFFD")), Calls: slices.Clone(m.Calls), State: m.State}
	for i := range out.Calls {
		c := &out.Calls[i]
		s.Calls++
		c.ID = fmt.Sprintf("call%05d", (before+s.Calls)%100_000)
	}
	return out
}

type offer struct {
	names string
	specs []llm.ToolSpec
}

// offered are the task's tools, ready to send.
func (t *Task) offered(s *State) offer {
	var o offer
	var names []string
	for i := range t.Tools {
		if t.Revision > 0 || t.missing(&t.Tools[i], s) == nil && t.withheld(s, t.Tools[i].Name, s.Turns+1) == "" {
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

// lastCall returns the highest number of a call in the history with which a run began.
// The run's own calls are numbered from there, since ids are unique in a conversation.
func lastCall(history []llm.Message) int {
	last := 0
	for i := range history {
		for _, c := range history[i].Calls {
			if digits, ok := strings.CutPrefix(c.ID, "call"); ok {
				if n, err := strconv.Atoi(digits); err == nil {
					last = max(last, n)
				}
			}
		}
	}
	return last
}

// window returns the context window, in tokens, of the model that the run has fallen back
// to; 0 if it is unknown.
func (t *Task) window(fell int) int {
	_, w := t.modelAt(fell)
	if w == 0 && t.Budget != nil {
		w = t.Budget.Window
	}
	return w
}

// knownWindow is the window if it is not a guess.
func (t *Task) knownWindow(s *State) int {
	if _, asked := t.modelAt(s.Fallback); asked > 0 {
		return asked
	}
	if t.Budget.Guess {
		return 0
	}
	return t.Budget.Window
}

// limit returns the largest size of a request in tokens; 0 means no limit.
func (t *Task) limit(s *State) int { return s.Context.Room(t.window(s.Fallback), t.Options.MaxTokens) }

// resultRoom returns the largest number of bytes of a call's result that are shown, and
// the number that are shown in any case if other results of the same answer need the
// rest. 0 means no bound.
func (t *Task) resultRoom(s *State, now callContext) (most, share int) {
	if t.Budget == nil || t.Budget.Result < 0 || t.tool(turn.ReadResult) == nil {
		return 0, 0
	}
	bytes := func(n int) int { return s.Context.ResultBytes(t.Budget.Result, t.limit(s), n) }
	if now.caller.workflow || t.Revision < turn.SharedRoom {
		return bytes(now.calls), 0
	}
	if most, share = bytes(1), bytes(now.calls); share == most {
		share = 0
	}
	return most, share
}

// need estimates the next request in tokens.
func (s *State) need(t *Task) int {
	g := &s.Context
	if g.Tools == 0 {
		for i := range t.Tools {
			g.Tools += turn.WeighTool(&t.Tools[i].ToolSpec)
		}
		g.Opening = turn.Weigh(llm.Message{Text: t.System}, llm.Message{Text: t.Prompt})
	}
	if s.Head == "" {
		return g.Beginning(s.New)
	}
	return g.Continued(s.New)
}
