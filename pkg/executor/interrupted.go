package executor

import (
	"encoding/json"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// afterInterruption decides how an interrupted call is handled, for every kind of step.
// Calls that are safe to repeat by the tool's declared effect, and calls whose effect was
// undone, have been repeated before.
func (t *Task) afterInterruption(by caller, c llm.Call, se *flow.StepError) turn.Interruption {
	command, publishes := turn.TextArgument(c.Args, "command"), t.publishes(c)
	switch {
	case se.Code != flow.Interrupted, !se.Undecided, by.interrupted == turn.Reported:
		return turn.Reported
	case !publishes && (by.interrupted == turn.Again || by.interrupted == turn.Recognized && permit.Repeatable(command)):
		return turn.Again
	case !by.workflow:
		return turn.Reported
	}
	return turn.AskPerson
}

// publishes reports whether a call may make something visible to others.
func (t *Task) publishes(c llm.Call) bool {
	tool := t.tool(c.Name)
	return tool == nil || tool.Needs&tools.Publish != 0 || permit.Publishes(turn.TextArgument(c.Args, "command"))
}

// leavesMachine reports whether an interrupted call, which was reported to the model, is asked
// about where the model makes it again: those of servers, and what publishes.
func (t *Task) leavesMachine(c llm.Call) bool {
	return t.Revision >= 4 && strings.HasPrefix(c.Name, turn.Prefix("")) || t.Revision >= asksToPublish && t.publishes(c)
}

// asksToPublish is the revision since which that holds for what publishes, and for each attempt
// until one succeeds.
const asksToPublish = 11

// unknownAfter is the path of the attempt with an unknown effect behind an approved call: an
// approval covers one call, so that after a failure the next one is asked about, too.
func (t *Task) unknownAfter(unknown string, reply ToolResult) string {
	if reply.Failed && t.Revision >= asksToPublish {
		return unknown
	}
	return ""
}

// failedCall returns the reply to a call that failed as a step.
func (t *Task) failedCall(c llm.Call, se *flow.StepError, unknown string) ToolResult {
	reply := stepFailure(c.Name, se)
	reply.unknown = t.unknownAfter(unknown, reply)
	if reply.Interrupted && t.leavesMachine(c) {
		reply.Undecided, reply.unknown = true, se.Path
	}
	return reply
}

// unknownAttempt adds to m the path of an earlier attempt of the call with an unknown
// effect; "" means none.
func unknownAttempt(m *turn.PermissionContext, path string) *turn.PermissionContext {
	if path == "" {
		return m
	}
	var own turn.PermissionContext
	if m != nil {
		own = *m
	}
	own.Unknown = path
	return &own
}

// notMadeResult returns the reply to a call that was not made, or not made again.
func notMadeResult(unknown, why string) ToolResult {
	reply := refuse("%s", why)
	reply.unknown, reply.Inconclusive = unknown, tools.CannotCheck
	return reply
}

// callDigest is the same for calls that ask for the same.
func callDigest(c llm.Call) string {
	raw, err := json.Marshal([]any{c.Name, c.Args})
	if err != nil {
		panic(err) // a text, and JSON that was decoded
	}
	return flow.Digest(raw)
}

// noteUnknown records a call with an unknown effect, or removes it once the effect is
// known.
func (s *State) noteUnknown(c llm.Call, reply ToolResult) {
	switch {
	case reply.unknown != "":
		if s.Unknown == nil {
			s.Unknown = map[string]string{}
		}
		s.Unknown[callDigest(c)] = reply.unknown
	case s.Unknown != nil:
		delete(s.Unknown, callDigest(c))
	}
}
