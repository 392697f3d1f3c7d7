package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/schema"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// spawnAgent is the tool that the loop performs itself: it runs an agent as
// part of the job.
const spawnAgent = "spawn_agent"

// spawnForModel runs a sub-agent for the model. siblings is how many are spawned in
// the same answer.
func spawnForModel(r *flow.Run, t *Task, s *State, now callContext, c llm.Call) (ToolResult, error) {
	var in struct{ Agent, Task string }
	if args, _ := schema.Repair(c.Args); json.Unmarshal(args, &in) != nil || in.Agent == "" || strings.TrimSpace(in.Task) == "" {
		const takes = "spawn_agent takes {\"agent\": its name, \"task\": what to do and what to report}"
		return refuse(takes), r.Note("%s refused: %s", spawnAgent, takes)
	}
	own := *s
	own.Taint, own.SubAgents.Agents = now.taint, s.SubAgents.Agents+now.subAgents
	siblings := max(1, now.calls)
	sc := &Scope{Run: r, Task: t, State: &own}
	rep, err := sc.spawn(SubAgentRequest{Agent: in.Agent, Prompt: in.Task}, t.remainingLimits(s).share(siblings), siblings)
	e := new(SpawnError)
	if err != nil && !errors.As(err, &e) {
		return ToolResult{}, err
	}
	if err != nil && e.Err == nil { // it was not spawned
		if err := r.Note("%s refused: %s", spawnAgent, spelling.FirstLine(rep.Reason)); err != nil {
			return ToolResult{}, err
		}
	}
	reply := ToolResult{Took: rep.Took, report: &rep}
	reply.Failed, reply.Taint = !rep.OK(), rep.Taint
	reply.Summary = in.Agent + ": " + rep.line()
	reply.Text = headAndTail(rep.text(), t.maxResultBytes(s, now.calls))
	return reply, nil
}

// text is the report in words for whoever ordered it.
func (r *Report) text() string {
	var b strings.Builder
	if r.Status != Done {
		fmt.Fprintf(&b, "%s is not done: %s\n", r.Agent, r.Reason)
	}
	switch {
	case len(r.Output) > 0:
		b.Write(r.Output)
	case r.Summary != "":
		b.WriteString(r.Summary)
	case r.Status == Done:
		fmt.Fprintf(&b, "%s is done and has said nothing", r.Agent)
	}
	return strings.TrimSpace(b.String())
}

// headAndTail shows head and tail of a text that is longer than room bytes; 0 is no
// bound.
func headAndTail(text string, room int) string {
	if room <= 0 || len(text) <= room {
		return text
	}
	return strings.ToValidUTF8(text[:room*2/3], "") + fmt.Sprintf("\n… %d bytes are left out …\n", len(text)-room) + strings.ToValidUTF8(text[len(text)-room/3:], "")
}

// needsOwnTree reports whether a sub-agent may not work beside others in the same
// directory: it could change what they read.
func (t *Task) needsOwnTree(c llm.Call) bool {
	var in struct{ Agent string }
	if args, _ := schema.Repair(c.Args); json.Unmarshal(args, &in) != nil || t.Spawn == nil {
		return false // it is refused
	}
	who, ok := t.Spawn.Agents[in.Agent]
	return ok && who.Needs&^(tools.Read|tools.Think|tools.Net) != 0
}
