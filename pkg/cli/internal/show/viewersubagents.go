package show

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// subAgents tracks the sub-agents of a job.
type subAgents struct {
	place string            // prefix of lines about them
	names map[string]string // of those that were mentioned, by path
	used  map[string]int    // how often a name was given
	many  bool              // several were at work at once
}

// name gives the sub-agent at path a name of its own.
func (a *subAgents) name(path, agent string) string {
	if n := a.names[path]; n != "" {
		return n
	}
	if a.names == nil {
		a.names, a.used = map[string]string{}, map[string]int{}
	}
	a.used[agent]++
	n := agent
	if i := a.used[agent]; i > 1 {
		n = fmt.Sprintf("%s %d", agent, i)
	}
	a.names[path] = n
	return n
}

// setPlace finds the sub-agent that ev belongs to. Its path is shown if others run beside
// it.
func (v *Viewer) setPlace(ev event.Event) {
	v.parts.place = ""
	books := v.tally.account()
	around := books.Around(ev.Path)
	if ev.Kind == event.AgentStarted || len(around) == 0 {
		return
	}
	depth := 0
	for i, p := range around {
		if p.Step != "" || i > 0 && around[i-1].Step != "" {
			continue // the pipeline's lines tell of it
		}
		if v.parts.names[p.Path] == "" {
			v.begin(depth, p)
		}
		depth++
	}
	v.parts.place = strings.Repeat("  ", depth)
	v.parts.many = v.parts.many || books.Busy() > 1
	if inner := around[len(around)-1]; v.parts.many || inner.Step == "" && !inner.Ended.IsZero() {
		name := inner.Step
		if name == "" {
			name = v.parts.name(inner.Path, inner.Agent)
		}
		v.parts.place += "[" + kit.SanitizeLine(name) + "] "
	}
	if strings.HasPrefix(string(ev.Kind), "pipeline.") {
		v.parts.place = strings.Repeat("  ", depth)
	}
}

// begin mentions a sub-agent.
func (v *Viewer) begin(depth int, p jobs.Part) {
	name := v.parts.name(p.Path, p.Agent)
	v.recalled()
	v.parts.place = strings.Repeat("  ", depth)
	v.aside(kit.Bold, strings.TrimSuffix(fmt.Sprintf("> %s: %s", name, p.About), ": "))
}

// agent shows that a sub-agent begins or has ended; it reports whether ev is
// about that.
func (v *Viewer) agent(ev event.Event) bool {
	lifecycle := ev.Kind == event.AgentStarted || ev.Kind == event.AgentFinished
	if !lifecycle && (ev.Kind != event.StepRecalled || ev.Step != flow.KindSpawn) {
		return false
	}
	at := ev.Path
	p, ended := v.tally.account().Ended(ev.Path)
	if ev.Kind == event.AgentFinished && ended {
		at = p.Path
	}
	around := v.tally.account().Around(at)
	depth := 0
	for i := range around {
		if around[i].Step != "" || i > 0 && around[i-1].Step != "" {
			if i == len(around)-1 {
				return true // the pipeline's lines tell of it
			}
			continue
		}
		depth++
	}
	if len(around) == 0 {
		return true
	}
	switch ev.Kind {
	case event.AgentStarted:
		v.begin(depth-1, around[len(around)-1])
	case event.AgentFinished:
		v.recalled()
		v.parts.place = strings.Repeat("  ", depth-1)
		style := kit.Plain
		if !jobs.Status(p.Status).Succeeded() {
			style = kit.Red
		}
		v.aside(style, fmt.Sprintf("< %s: %s", v.parts.name(p.Path, p.Agent), ending(p)))
	}
	return true
}

// ending renders the outcome and the usage of a part.
func ending(p jobs.Part) string {
	parts := []string{p.Status}
	if !jobs.Status(p.Status).Succeeded() && p.Reason != "" {
		parts[0] += ": " + kit.FirstSentence(p.Reason)
	}
	parts = append(parts, kit.Plural(p.Turns, "turn"))
	if p.Calls > 0 {
		parts = append(parts, kit.Plural(p.Calls, "call"))
	}
	parts = append(parts, kit.Count(p.Usage.In+p.Usage.Out)+" tokens")
	if p.Cost > 0 {
		parts = append(parts, fmt.Sprintf("%.4f USD", p.Cost))
	}
	return strings.Join(append(parts, kit.Duration(p.Took)), ", ")
}

// activity shows an action of a model that works on its own, below the steps.
func (v *Viewer) activity(ev event.Event) {
	var a llm.Activity
	if json.Unmarshal(ev.Data, &a) != nil {
		return
	}
	style := kit.Plain
	switch a.Kind {
	case extagent.ToolStarted:
		v.status.now = a.Name
		return
	case extagent.ToolFinished:
		v.status.now = ""
		if a.Status == extagent.StatusError || a.Status == extagent.StatusDenied {
			style = kit.Red
		}
	case extagent.SessionOpened, extagent.UsageReported:
		style = kit.Dim
	case extagent.PermissionAsked:
		if a.Status == extagent.StatusDenied {
			style = kit.Red
		}
	}
	text := kit.SanitizeLine(ev.Text)
	if w := v.Width(); w > 0 {
		text = kit.Cut(text, w-9)
	}
	v.print("       - ", style, text, "")
}
