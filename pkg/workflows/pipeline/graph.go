package pipeline

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/text/mermaid"
	"github.com/adroit-run/adroit/internal/text/spelling"
)

// An edge leads from one step of the pipeline to another; to is len(steps) for
// the end. It is taken when the step ended as in why: success, failure,
// skipped. bound reports that the step's variable has a value then.
type edge struct {
	to    int
	why   string
	bound bool
}

// edges gives for each step what may come next.
func (p *Pipeline) edges() [][]edge {
	at := map[string]int{endID: len(p.Steps)}
	for i := range p.Steps {
		at[p.Steps[i].ID] = i
	}
	g := make([][]edge, len(p.Steps))
	for i := range p.Steps {
		s := &p.Steps[i]
		good := i + 1
		if to, ok := at[s.OnSuccess]; ok && s.OnSuccess != "" {
			good = to
		}
		g[i] = append(g[i], edge{good, "success", true})
		policy := p.policy(s)
		if to, ok := at[s.OnFailure]; ok && s.OnFailure != "" && s.OnFailure != endID {
			g[i] = append(g[i], edge{to, "failure", false})
		} else if policy == policyContinue {
			g[i] = append(g[i], edge{i + 1, "failure", true})
		}
		if s.When != nil || len(s.Needs) > 0 {
			g[i] = append(g[i], edge{i + 1, "skipped", false})
		}
	}
	return g
}

// Mermaid draws the pipeline as a flowchart in Mermaid's language.
func (p *Pipeline) Mermaid() string {
	c := &mermaid.Chart{Prefix: "s"}
	ids := map[string]string{}
	draw(c, p.Steps, ids)
	end := c.End()
	recovery := ""
	if p.Recovery != nil {
		recovery = c.Node("{{", "}}", "recovery: "+p.Recovery.Agent.Name)
	}
	for i, next := range p.edges() {
		s := &p.Steps[i]
		from := ids[s.ID]
		for _, e := range next {
			to, arrow := end, "-->"
			if e.to < len(p.Steps) {
				to = ids[p.Steps[e.to].ID]
			}
			if e.why != "success" {
				arrow = "-. " + e.why + " .->"
			}
			c.Edge(from, arrow, to)
		}
		if s.Until != nil {
			c.Edge(from, "-. "+mermaid.Label("until "+describe(s.Until))+" .->", from)
		}
		if recovery != "" && p.policy(s) == policyRecover && !p.jumps(s) && s.Parallel == nil {
			c.Edge(from, "-. failure .->", recovery)
		}
	}
	return strings.TrimSuffix(c.String(), "\n")
}

// draw draws steps, and keeps the ids of their nodes by the ids of the steps.
func draw(c *mermaid.Chart, steps []Step, ids map[string]string) {
	for i := range steps {
		if s := &steps[i]; s.Parallel != nil {
			ids[s.ID] = c.Box(func(string) { draw(c, s.Parallel, ids) }, s.Title())
		} else {
			ids[s.ID] = c.Node("[", "]", s.Title(), s.what())
		}
	}
}

// Text draws the pipeline in lines: each step with what it does and where it
// leads.
func (p *Pipeline) Text() string {
	var rows [][3]string
	add := func(cells ...string) { rows = append(rows, [3]string{cells[0], cells[1], cells[2]}) }
	g := p.edges()
	for i := range p.Steps {
		s := &p.Steps[i]
		var notes []string
		for _, e := range g[i] {
			to := endID
			if e.to < len(p.Steps) {
				to = p.Steps[e.to].ID
			}
			if e.to == i+1 && e.why != "failure" {
				continue // the next line has it
			}
			notes = append(notes, fmt.Sprintf("%s > %s", e.why, to))
		}
		if !p.jumps(s) && p.policy(s) == policyRecover && s.Parallel == nil {
			notes = append(notes, "failure > recovery")
		}
		add(s.ID, s.what(), strings.Join(append(notes, s.notes()...), ", "))
		p.inner(s.Parallel, "  ", add)
	}
	width := [2]int{}
	for _, r := range rows {
		width[0], width[1] = max(width[0], len([]rune(r[0]))), max(width[1], len([]rune(r[1])))
	}
	var b strings.Builder
	b.WriteString(p.Name + "\n")
	for _, r := range rows {
		line := fmt.Sprintf("  %-*s  %-*s  %s", width[0], r[0], width[1], r[1], r[2])
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if p.Recovery != nil {
		fmt.Fprintf(&b, "  recovery by agent %s, at most %d times a step\n", p.Recovery.Agent.Name, p.Recovery.most())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (p *Pipeline) inner(steps []Step, indent string, add func(...string)) {
	for i := range steps {
		s := &steps[i]
		add(indent+s.ID, s.what(), strings.Join(s.notes(), ", "))
		p.inner(s.Parallel, indent+"  ", add)
	}
}

// nothing describes a step of no kind.
const nothing = "does nothing"

// what describes a step in a few words.
func (s *Step) what() string {
	switch s.Kind() {
	case "agent":
		model := s.Model
		if model == "" && s.Agent.Spec != nil {
			model = s.Agent.Spec.Model
		}
		if model != "" {
			return fmt.Sprintf("agent %s (%s)", s.Agent.Name, model)
		}
		return "agent " + s.Agent.Name
	case "run":
		return "run " + spelling.ClipRunes(spelling.FirstLine(s.Run), 48)
	case "tool":
		return "tool " + s.Tool
	case "await":
		return "await " + s.Await.Signal
	case "pipeline":
		return "pipeline " + s.Pipeline.Name
	case "parallel":
		return fmt.Sprintf("%d at once", len(s.Parallel))
	}
	return nothing
}

// notes are a step's conditions and bounds.
func (s *Step) notes() []string {
	var out []string
	if s.When != nil {
		out = append(out, "when "+describe(s.When))
	}
	if len(s.Needs) > 0 {
		out = append(out, "needs "+strings.Join(s.Needs, ", "))
	}
	if s.Until != nil {
		out = append(out, "until "+describe(s.Until))
	}
	if s.Max > 0 {
		out = append(out, "at most "+spelling.Plural(s.Max, "run"))
	}
	if n := s.Retries.Attempts; n > 0 {
		out = append(out, spelling.Plural(n, "retry"))
	}
	if s.Timeout > 0 {
		out = append(out, "timeout "+s.Timeout.String())
	}
	if s.Output != "" {
		out = append(out, "writes {{"+s.Output+"}}")
	}
	return out
}

// describe describes a condition's question.
func describe(c *condition) string {
	group := func(list []condition, by string) string {
		var parts []string
		for i := range list {
			parts = append(parts, describe(&list[i]))
		}
		return strings.Join(parts, by)
	}
	about := c.Var
	if c.Step != "" {
		about = c.Step
	}
	switch {
	case c.All != nil:
		return group(c.All, " and ")
	case c.Any != nil:
		return group(c.Any, " or ")
	case c.Is != nil:
		return about + " is " + spelling.ClipRunes(text(c.Is), 32)
	case c.Not != nil:
		return about + " is not " + spelling.ClipRunes(text(c.Not), 32)
	}
	return about + " fits a schema"
}
