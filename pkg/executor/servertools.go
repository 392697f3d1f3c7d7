package executor

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/adroit-run/adroit/internal/executor/stepio"
	"github.com/adroit-run/adroit/internal/toolserver"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A UserQuestion is what a tool asks the user in the middle of a call, as the
// tools of MCP servers do.
type UserQuestion struct {
	ID   string `json:"id"`
	Call string `json:"call,omitempty"` // that waits for the answer
	// Server and Tool ask.
	Server   string          `json:"server"`
	Tool     string          `json:"asked_by"`
	Question string          `json:"question"`
	Schema   json.RawMessage `json:"schema,omitempty"` // of the answer; nil if it is yes or no
	URL      string          `json:"url,omitempty"`    // that the user is asked to open
	Fault    string          `json:"fault,omitempty"`  // what is wrong with the answer before
}

// maxUserQuestions bounds what one call may ask: more is cancelled unasked.
const maxUserQuestions = 20

// askUser asks the user what a tool asks. The signals carry the step's path, so
// that an answer is for this call and no other.
func askUser(r *flow.Run, t *Task, q *UserQuestion, before int) (stepio.UserAnswer, error) {
	out := stepio.UserAnswer{ID: q.ID, Call: q.Call, Action: "cancel"}
	switch {
	case before >= maxUserQuestions:
		return out, nil
	case t.Approve == ApproveNone: // nobody is there
		out.Action = "decline"
		return out, nil
	}
	answer, decline := "answer@"+r.Next(), "decline@"+r.Next()
	sig, err := flow.AwaitAny(r, q, t.Patience, answer, decline)
	if _, late := errors.AsType[*flow.StepError](err); late {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	if sig.Name == decline {
		out.Action = "decline"
		return out, nil
	}
	out.Action, out.Content = "accept", sig.Value
	return out, nil
}

// reach is what the task reaches through call_tool, nil if it has none.
func (t *Task) reach() *toolserver.Reach {
	if t.Artifacts[toolserver.ReachArtifact] == nil || !slices.ContainsFunc(t.Tools, func(x Tool) bool { return x.Name == toolserver.CallTool }) {
		return nil
	}
	return toolserver.ReadReach(t.Artifacts[toolserver.ReachArtifact])
}

// meantCalls are the calls that an answer stands for: a call through call_tool is one
// of the tool that it names, for rules, results and records. The transcript keeps
// what the model wrote.
func (t *Task) meantCalls(calls []llm.Call) []llm.Call {
	reach := t.reach()
	if reach == nil {
		return calls
	}
	calls = slices.Clone(calls)
	for i, c := range calls {
		if c.Name != toolserver.CallTool || c.Malformed != "" {
			continue
		}
		if name, args, ok := reach.Meant(c.Args); ok {
			calls[i].Name, calls[i].Args = name, args
		}
	}
	return calls
}
