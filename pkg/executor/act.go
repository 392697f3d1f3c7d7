package executor

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

func (n *callContext) add(t *Task, c llm.Call, r ToolResult) {
	if t.changeFailed(c, r) {
		n.failed = c.Name
	}
	if n.last = ""; !t.pure(c) && !r.Undecided {
		n.last = callDigest(c)
	}
	n.taint |= t.taint(c, r)
	n.rules = append(slices.Clip(n.rules), r.rules...)
	n.artifacts = withArtifacts(n.artifacts, r)
	if r.Undecided {
		n.undecided = maps.Clone(n.undecided)
		if n.undecided == nil {
			n.undecided = map[string]string{}
		}
		n.undecided[callDigest(c)] = r.unknown
	}
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

// act runs the calls of one answer: those that only read or think at once,
// the others in the order given, each seeing the effects of the one before.
// Replies come back in call order.
func act(r *flow.Run, t *Task, s *State, by caller, calls []llm.Call) ([]ToolResult, error) {
	replies := make([]ToolResult, len(calls))
	now := callContext{taint: s.Taint, rules: s.Rules, calls: len(calls), caller: by}
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

// pure reports whether the call may run beside others: it only reads or
// thinks, and its tool does not declare that it does more.
func (t *Task) pure(c llm.Call) bool {
	tool := t.tool(c.Name)
	if tool != nil && t.Revision >= 4 && tool.Needs == 0 && tool.Effect == "" {
		return false // nothing says what it does
	}
	return tool != nil && tool.Needs&^(tools.Read|tools.Think) == 0 && (tool.Effect == "" || tool.Effect == tools.Pure) && (c.Name != spawnAgent || !t.needsOwnTree(c))
}

// callOrRefuse runs one call of the model, if it may. A tool that fails is news for
// the model, not the end of the run. A call that is refused is no step of its
// own, so that a note is logged.
func callOrRefuse(r *flow.Run, t *Task, s *State, now callContext, c llm.Call) (ToolResult, error) {
	if t.Revision >= 4 && !now.caller.workflow && now.last != "" && now.last == callDigest(c) {
		// Some servers send each call twice, under two ids.
		return ToolResult{Result: tools.Result{Text: "this is the call just before it once more, which was run once; to run it again, call it in your next answer"}},
			r.Note("%s was called twice in a row in one answer and run once", c.Name)
	}
	why := refusal(t, s, now, c)
	if why == "" && c.Name == spawnAgent {
		return spawnForModel(r, t, s, now, c)
	}
	if why == "" {
		return call(r, t, s, now, c)
	}
	reply := refuse("%s", why)
	if s.Failing.Paused(c.Name, s.Turns) {
		reply.Inconclusive = tools.CannotCheck
	}
	return reply, r.Note("%s refused: %s", c.Name, spelling.FirstLine(why))
}

// addTurn adds a turn to the state: the answer, the results in call order, the
// artifacts, the claim. calls are the calls meant by the answer.
func (s *State) addTurn(t *Task, answer llm.Message, calls []llm.Call, replies []ToolResult) {
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
	for i, c := range calls {
		if wrote := answer.Calls[i].Name; wrote != c.Name && wrote != turn.CallTool {
			s.feedback.repairs = append(s.feedback.repairs, wrote+" is called "+c.Name)
		}
		for _, words := range replies[i].Repairs {
			s.feedback.repairs = append(s.feedback.repairs, c.Name+": "+words)
		}
	}
	for i, c := range calls {
		reply := replies[i]
		var texts string
		if !reply.Failed {
			texts, s.ShownDirs = t.Project.Unseen(c.Args, s.ShownDirs)
		}
		text := cmp.Or(reply.shown, reply.Text) + texts + s.newArtifacts(t, reply)
		if i == 0 {
			text += s.repairNote()
		}
		m := llm.Message{Role: llm.Tool, CallID: c.ID, Name: answer.Calls[i].Name, Text: text, Images: reply.Images, Failed: reply.Failed}
		if reply.Kept != nil && t.Revision >= turn.NamesWhole {
			m.Whole = reply.Kept.ID
		}
		s.New = append(s.New, m)
		s.bind(c.Name, reply.Artifacts)
		s.Taint |= t.taint(c, reply)
		s.noteUnknown(c, reply)
		s.Rules = append(s.Rules, reply.rules...)
		if !reply.concurrent {
			s.Elapsed += longest
			longest = 0
		}
		longest = max(longest, reply.Took)
		if !reply.Failed {
			if s.Called == nil {
				s.Called = map[string]int{}
			}
			s.Called[c.Name]++
			if t.Revision >= 4 && c.Name != finish {
				s.Rejects = 0 // the model is at work, not insisting
			}
		}
	}
	s.Elapsed += longest
	var reports []Report
	for _, reply := range replies {
		s.addCosts(t, reply.ModelCosts)
		if reply.report != nil {
			reports = append(reports, *reply.report)
		}
	}
	s.addReports(reports...)
	s.recordCalls(calls, replies)
	s.countCalls(t, calls, replies)
}
