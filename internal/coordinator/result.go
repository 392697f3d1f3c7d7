package coordinator

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
)

// mostOutput bounds, in bytes, what a problem has of an output.
const mostOutput = 16 << 10

// Of reads a failed call of a tool that runs commands or checks something.
func Of(t *executor.Task, reply executor.ToolResult) *Problem {
	p := &Problem{Message: cmp.Or(reply.Summary, spelling.FirstLine(reply.Text)), Interrupted: reply.Interrupted, Sandbox: reply.Sandbox}
	var r struct {
		Code     int  `json:"exit_code"`
		TimedOut bool `json:"timed_out"`
		Output   string
		Sandbox  string
		Facts    map[string]string
		Files    []string
		Installs []string
	}
	if json.Unmarshal(reply.Artifacts["run"], &r) == nil {
		p.Code, p.TimedOut, p.Output, p.Facts, p.Files, p.Sandbox, p.Installs = r.Code, r.TimedOut, r.Output, r.Facts, r.Files, r.Sandbox, r.Installs
		return p
	}
	p.Output, p.Inconclusive = reply.Text, string(reply.Inconclusive)
	if t.Revision < turn.TypedResults {
		end := turn.OldresultOf(p.Message)
		p.Code, p.TimedOut, p.Killed = end.Code, end.TimedOut, end.Killed
		if end.NotStarted {
			p.Inconclusive = cmp.Or(p.Inconclusive, "not run")
		}
		return p
	}
	var c turn.CommandResult
	if json.Unmarshal(reply.Value, &c) != nil {
		return p
	}
	p.Code, p.TimedOut, p.Killed = c.Code, c.TimedOut, c.Killed
	if c.ID != "" { // of a command, and not of a check, which has words of its own
		p.Output = headAndTail(c.Output)
	}
	return p
}

// headAndTail is the head and, three times as long, the tail of an output.
func headAndTail(s string) string {
	if len(s) <= mostOutput {
		return s
	}
	return strings.ToValidUTF8(s[:mostOutput/4], "") + "\n[...]\n" + strings.ToValidUTF8(s[len(s)-mostOutput*3/4:], "")
}
