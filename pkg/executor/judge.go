package executor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/executor/toolcall"
	"github.com/adroit-run/adroit/internal/schema"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// finish is the tool whose successful call is the completion signal.
const finish = "finish"

// verify judges the task's criterion after the model stopped calling tools or
// claimed to be done, and either ends the run or states what is missing.
func verify(r *flow.Run, t *Task, s *State, answer llm.Message) error {
	v, err := t.judge(r, s)
	if err != nil {
		return err
	}
	v.add(checkOutput(t, s, answer))
	if len(v.Unmet) == 0 {
		s.Failing = nil // nobody calls them any more
		s.Outcome = &Outcome{Status: Done, Met: v.Met, Unchecked: v.Unchecked, Reason: strings.Join(v.Met, ", "), Summary: s.Last}
		if s.Outcome.Reason == "" {
			s.Outcome.Reason = "the model stopped calling tools"
		}
		if s.Claim != nil {
			s.Outcome.Summary, s.Outcome.Evidence = s.Claim.Summary, s.Claim.Evidence
		}
		return nil
	}
	if v.hopeless() {
		t.stop(s, &Outcome{Status: Stuck, Met: v.Met, Unmet: v.Unmet, Unchecked: v.Unchecked, Reason: "this cannot be judged here: " + v.Unmet[0]})
		return nil
	}
	s.Rejects++
	if most := t.Limits.Or(DefaultLimits).Rejects; most >= 0 && s.Rejects > most {
		t.stop(s, &Outcome{Status: Stuck, Met: v.Met, Unmet: v.Unmet,
			Reason: fmt.Sprintf("stopped %d times without being done; %s", s.Rejects, v.Unmet[0])})
		return nil
	}
	s.RequireCall = t.Done.wants(s)
	s.addUserMessage("Not done yet:\n- %s%s", strings.Join(v.Unmet, "\n- "), t.producersOf(s))
	return nil
}

// settleWords has criteria speak of what the task's model knows.
func (t *Task) settleWords(s *State) {
	s.plain = t.Revision > 0
	s.finishOffered = s.plain && slices.ContainsFunc(t.Tools, func(tool Tool) bool { return tool.Name == finish })
}

// judge judges the task's criterion and runs its checks. The error is the
// engine's.
func (t *Task) judge(r *flow.Run, s *State) (verdict, error) {
	var engine error
	t.settleWords(s)
	v := t.Done.judge(s, func(c Criterion) error {
		if engine != nil {
			return engine // nothing is begun any more
		}
		tool, args := c.Call()
		reply, err := call(r, t, s, callContext{taint: s.Taint, rules: s.Rules}, llm.Call{Name: tool, Args: args})
		if err != nil {
			engine = err
			return err
		}
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
	text := toolcall.Conform(t.Output, answer.Text)
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
	for _, a := range t.Done.collect(func(c Criterion) string { return c.Artifact }) {
		if a == "diff" && s.plain && !changed(s.Value(a)) {
			lines = append(lines, t.editors()+"Text in an answer changes nothing.")
		}
		if s.Value(a) != nil {
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
func (t *Task) editors() string {
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
func (t *Task) claim(answer llm.Message, replies []ToolResult) *Claim {
	for i, c := range answer.Calls {
		if t.changeFailed(c, replies[i]) {
			return nil
		}
		if c.Name == finish && !replies[i].Failed {
			var in struct{ Summary, Evidence string }
			if err := json.Unmarshal(c.Args, &in); err != nil || strings.TrimSpace(in.Summary) == "" {
				in.Summary = answer.Text
			}
			return &Claim{Word: finish, Summary: in.Summary, Evidence: in.Evidence}
		}
	}
	words := t.Done.Signals()
	for line := range strings.Lines(answer.Text) {
		if w := strings.TrimSpace(line); slices.Contains(words, w) {
			rest := strings.TrimSpace(strings.Replace(answer.Text, line, "", 1))
			return &Claim{Word: w, Summary: rest}
		}
	}
	return nil
}

// wrapUpPrefix begins the request to sum up.
const wrapUpPrefix = "You have to stop now:"

// wrapUp stops the run after one more call without tools, in which the model
// describes where things stand.
func (s *State) wrapUp(o *Outcome) {
	s.WrapUp = o
	s.addUserMessage(wrapUpPrefix+" %s. You can call no more tools. Say in a few sentences what is done, what is not, and what should be done next.", o.Reason)
}

// lastWords are what a stopped run has to say: the model's text without claims
// to be done, or why it was stopped.
func (t *Task) lastWords(text string, o *Outcome) string {
	if t.Revision == 0 {
		return text
	}
	var keep []string
	signals := t.Done.Signals()
	for line := range strings.Lines(text) {
		if !slices.Contains(signals, strings.TrimSpace(line)) {
			keep = append(keep, line)
		}
	}
	if words := strings.TrimSpace(strings.Join(keep, "")); words != "" {
		return words
	}
	return "Stopped: " + o.Reason + "."
}

// stop ends the run: at once where there is nothing to tell about, since the
// task has no tools and its answer is for a program; else by wrapUp.
func (t *Task) stop(s *State, o *Outcome) {
	if (len(t.Tools) == 0 || t.turn.none) && len(t.Output) > 0 {
		if s.Outcome == nil {
			s.Outcome = o
		}
		return
	}
	s.wrapUp(o)
}

// maxEmpty is how many answers in a row may have nothing in them.
const maxEmpty = 3

func (s *State) empty() {
	s.Empty++
	if s.Empty >= maxEmpty {
		s.Outcome = &Outcome{Status: Stuck, Reason: fmt.Sprintf("the model gave %d answers in a row with neither text nor a readable tool call%s", s.Empty, s.feedback.silent)}
		return
	}
	if len(s.feedback.refused) > 0 {
		s.addUserMessage("You stopped without a word. What you asked was refused:\n- %s\nFind a way without it, or end and say what you could not do.", strings.Join(s.feedback.refused, "\n- "))
		return
	}
	s.addUserMessage("Your last answer had neither text nor a tool call that could be read. If you meant to call a tool, call it again with valid JSON arguments. If you are done, say so.")
}
