package executor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// verify judges the task's criterion after the model stopped calling tools or
// claimed to be done, and either ends the run or states what is missing.
func verify(r *flow.Run, t *Task, s *State, answer llm.Message) error {
	if declined, err := t.decline(r, s); declined || err != nil {
		return err
	}
	v, err := t.judgeAnswer(r, s, answer)
	if err != nil || s.Outcome != nil {
		return err
	}
	if v.onlyInconclusive() {
		t.stop(s, &Outcome{Status: Stuck, Met: v.Met, Unmet: v.Unmet, Unchecked: v.Unchecked, Reason: "this cannot be judged here: " + v.Unmet[0]})
		return nil
	}
	s.Rejects++
	if most := t.Limits.Or(DefaultLimits).Rejects; most >= 0 && s.Rejects > most {
		t.stop(s, &Outcome{Status: Stuck, Met: v.Met, Unmet: v.Unmet,
			Reason: fmt.Sprintf("stopped %d times without being done; %s", s.Rejects, v.Unmet[0])})
		return nil
	}
	s.RequireCall = t.Done.lacksAction(s)
	s.addUserMessage("Not done yet:\n- %s%s%s", strings.Join(v.Unmet, "\n- "), t.producersOf(s), t.unappliedNote(s)+t.fenceNote(s, answer))
	return nil
}

// judgeAnswer ends the run if the task's criterion holds with this answer. The
// word that the work is done is not the work: an answer without calls stands for
// it where something was done, or the model was asked for it before.
func (t *Task) judgeAnswer(r *flow.Run, s *State, answer llm.Message) (verdict, error) {
	s.signalOptional = t.Revision >= 4 && s.Claim == nil && len(answer.Calls) == 0 && (s.worked() || s.Rejects > 0)
	defer func() { s.signalOptional = false }()
	v, err := t.judge(r, s, t.Done)
	if err != nil {
		return v, err
	}
	v.add(checkOutput(t, s, answer))
	if s.ChangeFailed && !t.PlanOnly && t.Done.conditional() && !(Criterion{Artifact: changedFiles}).applies(s) {
		v.add(unmet("no file has been changed: the change that you tried failed"))
	}
	if s.Unapplied != nil && !s.confirmed {
		v.add(unmet("%s", s.Unapplied.Why))
	} else if s.feedback.doubt != "" && s.Claim == nil && t.Revision >= doubtsUnmet {
		v.add(unmet("%s", s.feedback.doubt)) // the word for a call is not the call
	}
	if len(v.Unmet) > 0 {
		return v, nil
	}
	s.Failing = nil // nobody calls them any more
	s.Outcome = &Outcome{Status: Done, Met: v.Met, Unchecked: v.Unchecked, Reason: strings.Join(v.Met, ", "), Summary: s.Last}
	if s.Outcome.Reason == "" {
		s.Outcome.Reason = "the model stopped calling tools"
	}
	t.markUnchanged(s, s.Outcome)
	if s.Claim != nil {
		s.Outcome.Summary, s.Outcome.Evidence = s.Claim.Summary, s.Claim.Evidence
	}
	if u := s.Unapplied; u != nil && u.Text != "" && shownChange(s.Outcome.Summary) == "" {
		s.Outcome.Summary = u.Text // it is what was asked for
	}
	return v, nil
}

// markUnchanged adjusts the outcome of a run that could only plan, or that had nothing to
// prove since it changed nothing.
func (t *Task) markUnchanged(s *State, o *Outcome) {
	switch {
	case t.PlanOnly:
		o.Status, o.Reason = Planned, "nothing was changed or tested"
	case t.Done.conditional() && !Criterion{Artifact: changedFiles}.applies(s):
		o.Status, o.Reason = Answered, "no file was changed"
	}
}

// worked reports whether the model has done something since the run was last
// given something to do.
func (s *State) worked() bool {
	for name := range s.Called {
		if name != finish && s.called(name) > 0 {
			return true
		}
	}
	return s.feedback.worked
}

// noteChanges remembers whether the last call that was to change a file failed.
func (s *State) noteChanges(t *Task, calls []llm.Call, replies []ToolResult) {
	for i, c := range calls {
		if tool := t.tool(c.Name); t.Revision >= 4 && tool != nil && tool.changesFiles() {
			s.ChangeFailed = replies[i].Failed
		}
	}
}

// noteUnapplied notes a change that stands in an answer's text alone, and that one has been
// made since. It is for tasks that are done without a change, too: others want one anyway.
func (t *Task) noteUnapplied(s *State, answer llm.Message, calls []llm.Call, replies []ToolResult) {
	s.confirmed = confirms(answer.Text, calls, replies)
	if t.Revision < confirmsText || t.PlanOnly || s.noFinish || !t.Done.conditional() || t.asksForChange() {
		return
	}
	for i, c := range calls {
		tool := t.tool(c.Name)
		if !replies[i].Failed && (tool != nil && tool.changesFiles() || replies[i].Artifacts[changedFiles] != nil) {
			s.Unapplied = nil
			return
		}
	}
	if len(answer.Calls) > 0 {
		return
	}
	for _, tool := range t.Tools {
		if s.feedback.doubt != "" && tool.changesFiles() && strings.Contains(s.feedback.doubt+"\n"+answer.Text, tool.Name) {
			s.Unapplied = &unapplied{Why: "the call of " + tool.Name + " that your answer had in its text was not run"}
			return
		}
	}
	if name := shownChange(answer.Text); name != "" && t.edits() && !changed(s.Value(changedFiles)) {
		s.Unapplied = &unapplied{Why: "the change of " + name + " that your answer shows was not made", Text: answer.Text}
	}
}

// confirms reports whether a model says in so many words that nothing has to be changed.
func confirms(text string, calls []llm.Call, replies []ToolResult) bool {
	for i, c := range calls {
		var in struct{ Outcome string }
		if c.Name == finish && !replies[i].Failed && json.Unmarshal(c.Args, &in) == nil && in.Outcome == NotNeeded {
			return true
		}
	}
	return slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == notNeededWord })
}

// unappliedNote asks the model to apply a change that it only wrote in its text, "" if
// there is none.
func (t *Task) unappliedNote(s *State) string {
	if s.Unapplied == nil {
		return ""
	}
	end := "say " + notNeededWord + " on a line of its own"
	if s.finishOffered {
		end = "call finish with outcome " + NotNeeded
	}
	return "\nText in an answer changes nothing. " + t.editors(s) + "If no file has to be changed, " + end + "."
}

// reportsBeside reports whether an answer has the output that a turn asks for, beside calls
// that have all changed files: to ask for it again would cost a request.
func (t *Task) reportsBeside(answer llm.Message, calls []llm.Call, replies []ToolResult) bool {
	if t.Revision < 8 || len(t.Output) == 0 || !t.Done.Zero() || len(calls) == 0 {
		return false
	}
	for i, c := range calls {
		if tool := t.tool(c.Name); tool == nil || !tool.changesFiles() || replies[i].Failed || replies[i].Interrupted {
			return false
		}
	}
	form, err := schema.Compile(t.Output)
	return err == nil && len(form.Validate(turn.Conform(t.Output, answer.Text))) == 0
}

// prepareJudging sets the fields of s on which the wording of unmet criteria depends.
func (t *Task) prepareJudging(s *State) {
	s.plain, s.planOnly = t.Revision > 0, t.PlanOnly
	s.noFinish = t.Revision >= 4 && t.isExternalAgent(s)
	if t.Revision >= turn.SharedRoom && !s.noFinish {
		s.toolsByArtifact = t.toolsByArtifact()
	}
	s.finishOffered = s.plain && !s.noFinish && slices.ContainsFunc(t.Tools, func(tool Tool) bool { return tool.Name == finish })
}

// toolsByArtifact lists the tools that produce each artifact, joined with "or".
func (t *Task) toolsByArtifact() map[string]string {
	all := map[string]string{}
	for _, tool := range t.Tools {
		for _, a := range tool.Produces {
			if all[a] != "" {
				all[a] += " or "
			}
			all[a] += tool.Name
		}
	}
	return all
}

// isExternalAgent reports whether the model has tools of its own and none of the task's.
func (t *Task) isExternalAgent(s *State) bool {
	model, _ := t.modelAt(s.Fallback)
	return extagent.IsAgent(model)
}

// judge judges a criterion and runs its checks. The error is the engine's.
func (t *Task) judge(r *flow.Run, s *State, done Criterion) (verdict, error) {
	var engine error
	t.prepareJudging(s)
	v := done.judge(s, func(c Criterion) error {
		if engine != nil {
			return engine // nothing is begun any more
		}
		tool, args := c.Call()
		check := llm.Call{Name: tool, Args: args}
		reply, err := call(r, t, s, callContext{taint: s.Taint, rules: s.Rules, caller: caller{workflow: true, interrupted: turn.Again}}, check)
		if err != nil {
			engine = err
			return err
		}
		s.noteUnknown(check, reply)
		s.bind(tool, reply.Artifacts)
		s.Rules = append(s.Rules, reply.rules...)
		s.Elapsed += reply.Took
		s.addCosts(t, reply.ModelCosts)
		return t.checkError(c, &reply)
	})
	return v, engine
}

// checkOutput checks the answer of an agent with typed output and binds it as the
// artifact "output".
func checkOutput(t *Task, s *State, answer llm.Message) verdict {
	if len(t.Output) == 0 {
		return verdict{}
	}
	schema, err := schema.Compile(t.Output)
	if err != nil {
		return unmet("the output schema cannot be used: %v", err)
	}
	var v verdict
	text := turn.Conform(t.Output, answer.Text)
	for _, f := range schema.Validate(text) {
		v.add(unmet("answer with JSON of the schema only: %s", f))
	}
	if len(v.Unmet) == 0 {
		s.bind("", map[string]json.RawMessage{"output": text})
		v.add(met("output valid"))
	}
	return v
}

// producersOf names the tools that produce what the task still lacks.
func (t *Task) producersOf(s *State) string {
	var lines []string
	for _, a := range t.Done.Artifacts() {
		if a == "diff" && s.plain && !changed(s.Value(a)) {
			lines = append(lines, t.editors(s)+"Text in an answer changes nothing."+t.endsWithoutChange(s))
		}
		if s.Value(a) != nil || s.noFinish || s.toolsByArtifact[a] != "" {
			continue
		}
		for _, tool := range t.Tools {
			if slices.Contains(tool.Produces, a) {
				lines = append(lines, fmt.Sprintf("%s produces %q.", tool.Name, a))
			}
		}
	}
	if lines == nil {
		return ""
	}
	return "\n" + strings.Join(lines, " ")
}

// editors names tools that change files, in a sentence.
func (t *Task) editors(s *State) string {
	if s.noFinish {
		return ""
	}
	var names []string
	for _, tool := range t.Tools {
		if slices.ContainsFunc([]string{"edit_", "write_", "apply_"}, func(p string) bool { return strings.HasPrefix(tool.Name, p) }) && tool.Needs.Has(tools.Write) {
			names = append(names, tool.Name)
		}
	}
	if names == nil {
		return ""
	}
	return strings.Join(names, " or ") + " does that. "
}

// claim notes what the model states about being done in this turn: a successful
// finish call, or one of the words alone on a line.
func (t *Task) claim(text string, calls []llm.Call, replies []ToolResult) *Claim {
	for i, c := range calls {
		if t.changeFailed(c, replies[i]) {
			return nil
		}
		if c.Name == finish && !replies[i].Failed {
			var in struct{ Summary, Evidence, Outcome string }
			if err := json.Unmarshal(c.Args, &in); err != nil || strings.TrimSpace(in.Summary) == "" {
				in.Summary = text
			}
			return &Claim{Word: finish, Result: t.resultOf(in.Outcome), Summary: in.Summary, Evidence: in.Evidence}
		}
	}
	words := t.Done.Signals()
	if t.Revision >= 4 {
		words = append(words, notNeededWord, cannotWord)
	}
	for line := range strings.Lines(text) {
		if w := strings.TrimSpace(line); slices.Contains(words, w) {
			rest := strings.TrimSpace(strings.Replace(text, line, "", 1))
			c := &Claim{Word: w, Summary: rest}
			if !slices.Contains(t.Done.Signals(), w) {
				c.Result = t.resultOf(strings.ToLower(w))
			}
			return c
		}
	}
	return nil
}

// checkError converts the result of a check to an error, nil if it passed.
func (t *Task) checkError(c Criterion, reply *ToolResult) error {
	words := reply.Summary
	if words == "" {
		words = spelling.FirstLine(reply.Text)
	}
	switch _, lacked := t.NothingToCheck[c.Label()]; {
	case reply.Inconclusive == tools.NothingToCheck && lacked:
		return &inconclusiveError{Missing: true, Reason: words}
	case reply.Inconclusive == tools.NothingToCheck:
		// There was something when the job began, or nobody looked: that it is
		// gone proves nothing, and the model may bring it back.
		return fmt.Errorf("check %s: %s", c.Label(), reply.Text)
	case reply.Inconclusive != "":
		return &inconclusiveError{Reason: fmt.Sprintf("check %s: %s", c.Label(), spelling.FirstLine(reply.Text))}
	case reply.Failed:
		return fmt.Errorf("check %s: %s", c.Label(), reply.Text)
	}
	return nil
}

// The words, alone on a line, by which a model without finish reports that
// nothing has to be changed or that the task cannot be done. In lower case they
// are the values of finish's argument outcome.
const (
	notNeededWord = "NOT_NEEDED"
	cannotWord    = "CANNOT_BE_DONE"
)

// resultOf is a claim's result as far as it is one for the task: where no change
// is asked for, there is none that could be unnecessary.
func (t *Task) resultOf(result string) string {
	switch {
	case t.Revision < 4:
		return ""
	case result == CannotBeDone, result == NotNeeded && t.asksForChange():
		return result
	}
	return ""
}

// asksForChange reports whether the task is not done without a changed file.
func (t *Task) asksForChange() bool { return slices.Contains(t.Done.Artifacts(), "diff") }

// endsWithoutChange explains to a model that has changed nothing how to end without a
// change.
func (t *Task) endsWithoutChange(s *State) string {
	switch {
	case t.Revision < 4 || !t.asksForChange():
		return ""
	case s.finishOffered:
		return " If nothing has to be changed, call finish with outcome " + NotNeeded + "; if the task cannot be done, with " + CannotBeDone + "."
	}
	return " If nothing has to be changed, say " + notNeededWord + " on a line of its own; if the task cannot be done, " + cannotWord + "."
}

// decline takes a claim that nothing has to be changed, which is asked about once,
// or that the task cannot be done. It reports whether there was one.
func (t *Task) decline(r *flow.Run, s *State) (bool, error) {
	c := s.Claim
	if c == nil || c.Result == "" || c.Result == NotNeeded && changed(s.Value("diff")) {
		return false, nil
	}
	o := &Outcome{Status: c.Result, Summary: c.Summary, Evidence: c.Evidence}
	if o.Reason = spelling.FirstLine(c.Summary); o.Reason == "" {
		o.Reason = "the model gave no reason"
	}
	if c.Result == CannotBeDone {
		s.Outcome = o
		return true, nil
	}
	if s.AskedBack != c.Result {
		s.AskedBack = c.Result
		again := "say " + notNeededWord + " on a line of its own again"
		if s.finishOffered {
			again = "call finish with outcome " + NotNeeded + " again"
		}
		s.addUserMessage("You report that nothing has to be changed. Compare the task with the files once more. If something is missing, make the change; if nothing is, %s.", again)
		return true, nil
	}
	v, err := t.judge(r, s, Criterion{All: t.Done.checksAlone()})
	if err != nil {
		return true, err
	}
	o.Met, o.Unmet, o.Unchecked = v.Met, v.Unmet, v.Unchecked
	switch {
	case len(v.Unmet) > 0:
		o.Status, o.Reason = NotNeededUnproven, spelling.FirstLine(v.Unmet[0])
	case len(v.Met) == 0:
		o.Status, o.Reason = NotNeededUnproven, "no check shows it: "+o.Reason
	default:
		o.Reason = strings.Join(v.Met, ", ")
	}
	s.Outcome = o
	return true, nil
}

// finishIfSilent ends the run if the model has twice stopped without text and the work is
// there.
func (t *Task) finishIfSilent(r *flow.Run, s *State, answer llm.Message) error {
	last := t.Revision >= 8 && s.Empty == maxEmpty-1 // a server may lose each call that it cannot read
	if t.Revision < 4 || s.Empty == 0 || s.feedback.lost && !last || !s.worked() ||
		!slices.ContainsFunc(t.Done.All, Criterion.evidence) && !(t.Done.conditional() && changed(s.Value(changedFiles))) {
		return nil
	}
	_, err := t.judgeAnswer(r, s, answer)
	return err
}

// checksAlone lists the checks of c. What would count in place of a check that has
// nothing to check is left out: it is a change.
func (c Criterion) checksAlone() []Criterion {
	if c.IsCheck() {
		c.IfMissing = nil
		return []Criterion{c}
	}
	var out []Criterion
	for _, part := range c.parts() {
		out = append(out, part.checksAlone()...)
	}
	return out
}
