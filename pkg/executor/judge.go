package executor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/executor/toolcall"
	"github.com/adroit-run/adroit/internal/schema"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

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
	for _, a := range t.Done.Artifacts() {
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

// checkError is what became of a check: nil if it passed.
func (t *Task) checkError(c Criterion, reply *ToolResult) error {
	words := reply.Summary
	if words == "" {
		words = spelling.FirstLine(reply.Text)
	}
	switch _, lacked := t.NothingToCheck[c.Label()]; {
	case reply.WhyInconclusive() == tools.NothingToCheck && lacked:
		return &inconclusiveError{Missing: true, Reason: words}
	case reply.WhyInconclusive() == tools.NothingToCheck:
		// There was something when the job began, or nobody looked: that it is
		// gone proves nothing, and the model may bring it back.
		return fmt.Errorf("check %s: %s", c.Label(), reply.Text)
	case reply.WhyInconclusive() != "":
		return &inconclusiveError{Reason: fmt.Sprintf("check %s: %s", c.Label(), spelling.FirstLine(reply.Text))}
	case reply.Failed:
		return fmt.Errorf("check %s: %s", c.Label(), reply.Text)
	}
	return nil
}
