package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/executor/stepio"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/permit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A ToolResult is the output of a tool step.
type ToolResult struct {
	tools.Result
	Took time.Duration `json:"took_ns,omitempty"`
	// Sandbox is the level that the tool's commands ran at, if it may run any.
	Sandbox string `json:"sandbox,omitempty"`
	// Spent is what the tool has paid models for.
	ModelCosts []ModelCost `json:"spent,omitempty"`
	// Repairs are what the arguments were taken for, in words for the model.
	Repairs []string `json:"repairs,omitempty"`
	// Ask is set if nothing was done because a person must approve it first.
	Question *Question `json:"ask,omitempty"`
	// UserQuestion is set if the call waits for an answer of the user.
	UserQuestion *UserQuestion `json:"asks_user,omitempty"`
	// Interrupted is set if the process died during the call: it may or may not
	// have happened. It follows from the journal and is not part of it.
	Interrupted bool `json:"-"`

	rules      []permit.Rule // that the person who approved has added
	report     *Report       // of a sub-agent
	concurrent bool          // it ran at once with the one before it
}

// A callContext is what earlier calls have to do with whether the next may run.
type callContext struct {
	taint     tools.Taint
	rules     []permit.Rule              // added by people in the course of the job
	artifacts map[string]json.RawMessage // by the calls before, in the same answer
	calls     int                        // that share the room for results; 0 is one
	// before is how many sub-agents the calls before, in the same answer, have
	// been given.
	subAgents int
	// failed is the tool of a change that failed before, in the same answer.
	failed string
}

func (n *callContext) add(t *Task, c llm.Call, r ToolResult) {
	if t.changeFailed(c, r) {
		n.failed = c.Name
	}
	n.taint |= t.taint(c, r)
	n.rules = append(slices.Clip(n.rules), r.rules...)
	n.artifacts = withArtifacts(n.artifacts, r)
	if r.report != nil {
		n.subAgents += r.report.Usage.Agents
	}
}

// changeFailed reports whether a call was to change files and did not: the model had
// it in mind when it said in the same answer that the task is done.
func (t *Task) changeFailed(c llm.Call, r ToolResult) bool {
	tool := t.tool(c.Name)
	return t.Revision >= 3 && r.Failed && tool != nil && tool.changesFiles()
}

// taint is what the reply to a call carries.
func (t *Task) taint(c llm.Call, r ToolResult) tools.Taint {
	tool := t.tool(c.Name)
	if tool == nil {
		return r.Taint
	}
	if r.Interrupted && tool.Needs&tools.Publish != 0 {
		r.Taint |= tools.Unconfirmed
	}
	return r.Taint | tools.Metadata{Needs: tool.Needs}.Taints()
}

// act runs the calls of one answer: those that only read or think at once,
// the others in the order given, each seeing the effects of the one before.
// Replies come back in call order.
func act(r *flow.Run, t *Task, s *State, calls []llm.Call) ([]ToolResult, error) {
	replies := make([]ToolResult, len(calls))
	now := callContext{taint: s.Taint, rules: s.Rules, calls: len(calls)}
	for i := 0; i < len(calls); {
		n, agents := 0, 0
		for i+n < len(calls) && t.pure(calls[i+n]) {
			if calls[i+n].Name == spawnAgent {
				if agents == t.fanOut() {
					break
				}
				agents++
			}
			n++
		}
		if n < 2 {
			reply, err := callOrRefuse(r, t, s, now, calls[i])
			if err != nil {
				return nil, err
			}
			replies[i] = reply
			now.add(t, calls[i], reply)
			i++
			continue
		}
		at := make([]int, n)
		for k := range at {
			at[k] = k
		}
		got, err := flow.Map(r, at, func(r *flow.Run, k int) (ToolResult, error) {
			own := now
			own.subAgents += k
			return callOrRefuse(r, t, s, own, calls[i+k])
		})
		if err != nil {
			return nil, err
		}
		for k := range got {
			got[k].concurrent = k > 0
		}
		copy(replies[i:], got)
		for k, reply := range got {
			now.add(t, calls[i+k], reply)
		}
		i += n
	}
	return replies, nil
}

func (t *Task) tool(name string) *Tool {
	for i := range t.Tools {
		if t.Tools[i].Name == name {
			return &t.Tools[i]
		}
	}
	for i := range t.Checks {
		if t.Checks[i].Name == name {
			return &t.Checks[i]
		}
	}
	if t.reach().Has(name) {
		return &Tool{ToolSpec: llm.ToolSpec{Name: name}, Needs: tools.Net} // as all tools of servers
	}
	return nil
}

// pure reports whether the call may run beside others: it only reads or
// thinks, and its tool does not declare that it does more.
func (t *Task) pure(c llm.Call) bool {
	tool := t.tool(c.Name)
	return tool != nil && tool.Needs&^(tools.Read|tools.Think) == 0 && (tool.Effect == "" || tool.Effect == tools.Pure) && (c.Name != spawnAgent || !t.needsOwnTree(c))
}

func refuse(format string, args ...any) ToolResult {
	return ToolResult{Result: tools.Result{Failed: true, Text: fmt.Sprintf(format, args...)}}
}

// callOrRefuse runs one call of the model, if it may. A tool that fails is news for
// the model, not the end of the run. A call that is refused is no step of its
// own, so that a note is logged.
func callOrRefuse(r *flow.Run, t *Task, s *State, now callContext, c llm.Call) (ToolResult, error) {
	why := refusal(t, s, now, c)
	if why == "" && c.Name == spawnAgent {
		return spawnForModel(r, t, s, now, c)
	}
	if why == "" {
		return call(r, t, s, now, c)
	}
	return refuse("%s", why), r.Note("%s refused: %s", c.Name, spelling.FirstLine(why))
}

// offers lists the tools, for a model that called another one.
func (t *Task) offers() string {
	if len(t.Tools) == 0 {
		return "you have no tools: answer in words"
	}
	return "you have: " + strings.Join(t.names(), ", ")
}

// refusal states, in words for the model, why the call may not run; "" if it
// may.
func refusal(t *Task, s *State, now callContext, c llm.Call) string {
	tool := t.tool(c.Name)
	switch {
	case tool == nil && t.Mode == ModePlan:
		// A name that is near is no help where the tool itself is withheld.
		return fmt.Sprintf("there is no tool %q: this job plans and changes nothing, so say in words what should be done; %s", c.Name, t.offers())
	case tool == nil:
		return fmt.Sprintf("there is no tool %q%s; %s", c.Name, spelling.DidYouMean(c.Name, t.names()), t.offers())
	case c.Malformed != "":
		return fmt.Sprintf("the call was not run: %s. Call %s again with valid JSON arguments.", c.Malformed, c.Name)
	}
	if c.Name == finish && now.failed != "" {
		return "finish was not run: " + now.failed + " before it failed"
	}
	if matches(t.turn.refuse, c.Name) {
		return c.Name + " was not run: it may not be called in this step; answer what was asked without it"
	}
	if lacks := t.missingInputs(tool, s, now); len(lacks) > 0 {
		return fmt.Sprintf("%s needs %s first%s", c.Name, strings.Join(lacks, ", "), t.producers(s, lacks))
	}
	return t.withheld(s, c.Name, s.Turns)
}

func (t *Task) names() (out []string) {
	for _, tool := range t.Tools {
		out = append(out, tool.Name)
	}
	return out
}

// call has a call performed, and asks a person first if the host wants that. The
// answer is bound to what was shown: if the call is another by the time it is
// to run, because the host or a file is not as it was, it is asked about again.
func call(r *flow.Run, t *Task, s *State, now callContext, c llm.Call) (ToolResult, error) {
	use := stepio.ToolCall{Args: c.Args, At: t.At, Permission: t.permissionContext(now), MaxResultBytes: t.maxResultBytes(s, now.calls)}
	if tool := t.tool(c.Name); tool != nil {
		if tool.Needs&tools.Think != 0 {
			use.Think = t.thinking(s)
		}
		use.PlainText = tool.Needs == tools.Read && t.edits()
		use.Artifacts = t.toolInputs(s, now, tool)
	}
	var rules []permit.Rule
	for {
		reply, err := flow.Do[ToolResult](r, stepio.ToolStep, c.Name, use)
		if se, ok := errors.AsType[*flow.StepError](err); ok && se.Code != stepio.Gone {
			return stepFailure(c.Name, se), nil
		}
		if err == nil && reply.UserQuestion != nil {
			answer, err := askUser(r, t, reply.UserQuestion, len(use.Answers))
			if err != nil {
				return ToolResult{}, err
			}
			use.Answers = append(slices.Clip(use.Answers), answer)
			continue
		}
		if err != nil || reply.Question == nil {
			reply.rules = rules
			return reply, err
		}
		if reply.Question.Changed && t.Approve != "" && t.Approve != ApproveEdits && t.Approve != ApproveAsk {
			no := "not run: " + reply.Question.Why + ", and nobody is there to accept it. Go on without it."
			return refuse("%s", no), r.Note("%s: %s", c.Name, no)
		}
		no, rule, err := approve(r, t, reply.Question)
		if err != nil {
			return ToolResult{}, err
		}
		if no != "" {
			return refuse("%s", no), nil
		}
		if reply.Question.Changed {
			use.Accepted = reply.Question.Digest
		} else {
			use.Approved = reply.Question.Digest
		}
		rules = append(rules, rule...)
	}
}

// approve asks a person. The signals carry the step's path, so that an answer
// covers this call and no other. It returns words for the model if the call
// may not run, and the rule of an answer that is to hold for the job.
func approve(r *flow.Run, t *Task, q *Question) (no string, rules []permit.Rule, err error) {
	yes, deny := "approve@"+r.Next(), "deny@"+r.Next()
	sig, err := flow.AwaitAny(r, q, t.Patience, yes, deny)
	if se, ok := errors.AsType[*flow.StepError](err); ok {
		return "not run: " + se.Message + "; find a way without it", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	if sig.Name == yes {
		var how struct{ Always bool }
		if json.Unmarshal(sig.Value, &how) == nil && how.Always && q.Always != nil {
			rules = []permit.Rule{*q.Always}
		}
		return "", rules, nil
	}
	var why string
	if json.Unmarshal(sig.Value, &why) != nil || why == "" {
		why = "no reason given"
	}
	return "not run: denied by a person (" + why + ")", nil, nil
}

// stepFailure is the result, for the model, of a tool step that failed.
func stepFailure(tool string, se *flow.StepError) ToolResult {
	if se.Code == flow.Interrupted {
		reply := refuse("%s was interrupted: it may or may not have happened. Look before you repeat it.", tool)
		reply.Interrupted = true
		return reply
	}
	reply := refuse("%s could not be run: %s", tool, se.Message)
	reply.Took = se.Took
	return reply
}
