package pipeline

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/pkg/executor"
)

// list reads steps. depth counts groups within groups.
func (d *decoder) list(n *node, what string, depth int) []Step {
	switch {
	case n.Kind != plainyaml.List:
		d.Report(n.Place, "write each as - id: …", fmt.Sprintf("%s is %s, not a list of steps", what, n.Kind))
		return nil
	case depth > maxNesting:
		d.Report(n.Place, "make it a pipeline of its own", fmt.Sprintf("groups nest more than %d deep", maxNesting))
		return nil
	}
	steps := []Step{}
	for _, kid := range n.Kids {
		if d.steps++; d.steps > maxSteps {
			if d.steps == maxSteps+1 {
				d.Report(kid.Place, "make parts of it pipelines of their own", fmt.Sprintf("the pipeline has more than %d steps", maxSteps))
			}
			return steps
		}
		steps = append(steps, d.step(kid, depth))
	}
	return steps
}

func (d *decoder) step(n *node, depth int) Step {
	var s Step
	if n.Kind != plainyaml.Mapping {
		d.Report(n.Place, "write it like - {id: test, run: go test ./...}", fmt.Sprintf("a step is %s, not keys with values", n.Kind))
		return s
	}
	s.ID = d.id(n) // first, for the agent that has its name
	of, before := s.called(), len(d.rep.list)
	d.known(n, of, map[string]func(*node){
		"id":       func(*node) {},
		"name":     func(v *node) { d.String(v, "name", &s.Name) },
		"agent":    func(v *node) { a := d.agent(v, s.ID); s.Agent = &a },
		"run":      func(v *node) { d.String(v, "run", &s.Run) },
		"tool":     func(v *node) { d.String(v, "tool", &s.Tool) },
		"check":    func(v *node) { d.check(n, v, &s) },
		"await":    func(v *node) { s.Await = d.await(v) },
		"pipeline": func(v *node) { s.Pipeline = &within{}; d.String(v, "pipeline", &s.Pipeline.Name) },
		"parallel": func(v *node) { s.Parallel = d.list(v, "parallel", depth+1) },
		"input":    func(v *node) { d.String(v, "input", &s.Input) },
		"inputs":   func(v *node) { s.Inputs = d.values(v, "inputs") },
		"args": func(v *node) {
			if s.Args = v.JSON(); v.Kind != plainyaml.Mapping {
				d.Report(v.Place, "write it like args: {path: README.md}", fmt.Sprintf("args is %s, not names with values", v.Kind))
				s.Args = nil
			}
		},
		"repeatable": func(v *node) { d.Bool(v, "repeatable", &s.Repeatable) },
		"output": func(v *node) {
			d.String(v, "output", &s.Output)
			d.variable(v, s.Output)
		},
		"mcp_servers": func(v *node) { s.MCPServers = d.Names(v, "mcp_servers") },
		"worktree":    func(v *node) { d.Bool(v, "worktree", &s.Worktree) },
		"model":       func(v *node) { d.String(v, "model", &s.Model) },
		"limits":      func(v *node) { s.Limits = d.limits(v, "limits") },
		"when":        func(v *node) { s.When = d.condition(v, "when", 1) },
		"needs":       func(v *node) { s.Needs = d.Names(v, "needs") },
		"timeout":     func(v *node) { d.duration(v, "timeout", &s.Timeout) },
		"retries":     func(v *node) { s.Retries = d.retries(v) },
		"until":       func(v *node) { s.Until = d.condition(v, "until", 1) },
		"max":         func(v *node) { d.count(v, "max", &s.Max, 1, maxMaxSteps) },
		"onSuccess":   func(v *node) { d.String(v, "onSuccess", &s.OnSuccess) },
		"onFailure":   func(v *node) { s.OnFailure, s.Coordinate = d.failure(v) },
	})
	if len(s.kinds()) > 0 || len(d.rep.list) == before { // or what is wrong with it was reported
		d.fits(n, &s)
	}
	return s
}

// check reads a check, in the form that those of agents have, as a step that
// calls a tool or runs a command.
func (d *decoder) check(step, n *node, s *Step) {
	var c executor.Criterion
	if err := json.Unmarshal(fmt.Appendf(nil, `{"check":%s}`, n.JSON()), &c); err != nil {
		d.Report(n.Place, "", err.Error())
		return
	}
	for _, k := range step.Keys {
		if slices.Contains([]string{"run", "tool", "args"}, k.Text) {
			d.Report(k.Place, "write it into check", fmt.Sprintf("a step with check has no %s", k.Text))
			return
		}
	}
	s.Check, s.Run, s.Tool, s.Args = true, c.Run, c.Check, c.With
}

// id finds the id of a step before the rest of it is read.
func (d *decoder) id(n *node) string {
	for i, k := range n.Keys {
		if k.Text != "id" {
			continue
		}
		var id string
		d.String(n.Kids[i], "id", &id)
		switch {
		case slices.Contains(reserved, id):
			d.Report(n.Kids[i].Place, "choose another", fmt.Sprintf("a step cannot be called %q: the word says what comes next", id))
		case !idRule.MatchString(id):
			d.Report(n.Kids[i].Place, "begin it with a letter, and use at most 64 letters, digits, - and _, as in scout", fmt.Sprintf("the id %q cannot be used", id))
		}
		return id
	}
	d.Report(n.Place, "give it one, as in id: scout", "a step has no id")
	return ""
}

// reserved words are targets of jumps that are no steps.
var reserved = []string{endID, string(policyStop), string(policyContinue), string(policyRecover), string(policyCoordinate)}

const giveKind = "give it agent, run, tool, check, await, pipeline or parallel"

// fits checks that a step is of one kind and has only keys that mean something
// for it.
func (d *decoder) fits(n *node, s *Step) {
	kinds := s.kinds()
	switch {
	case len(kinds) == 0:
		d.Report(n.Place, giveKind, fmt.Sprintf("%s does nothing", s.called()))
		return
	case len(kinds) > 1:
		d.Report(n.Place, "make them steps of their own", fmt.Sprintf("%s is %s at once", s.called(), strings.Join(kinds, " and ")))
		return
	}
	kind := kinds[0]
	for _, f := range []struct {
		key  string
		is   bool
		fits string // kinds, with a space around each
	}{
		{"input", s.Input != "", " agent pipeline "},
		{"inputs", s.Inputs != nil, " agent pipeline "},
		{"args", s.Args != nil, " tool "},
		{"repeatable", s.Repeatable, " run tool "},
		{"model", s.Model != "", " agent "},
		{"worktree", s.Worktree, " agent "},
		{"mcp_servers", s.MCPServers != nil, " agent "},
		{"limits", !reflect.ValueOf(s.Limits).IsZero(), " agent "},
	} {
		if f.is && !strings.Contains(f.fits, " "+kind+" ") {
			i := slices.IndexFunc(n.Keys, func(k *node) bool { return k.Text == f.key })
			d.Report(n.Keys[i].Place, "it belongs to steps with "+strings.Join(strings.Fields(f.fits), " or "), fmt.Sprintf("%s means nothing for a step with %s", f.key, kind))
		}
	}
	if s.Until != nil && s.Max == 0 {
		d.Report(n.Place, "add max: 3", fmt.Sprintf("%s is repeated until something holds, without a cap", s.called()))
	}
}

// await reads the name of a signal, or {signal, question}.
func (d *decoder) await(n *node) *await {
	w, before := &await{}, len(d.rep.list)
	if n.Kind == plainyaml.Mapping {
		d.known(n, "await", map[string]func(*node){
			"signal":   func(v *node) { d.String(v, "await.signal", &w.Signal) },
			"question": func(v *node) { d.String(v, "await.question", &w.Question) },
		})
	} else {
		d.String(n, "await", &w.Signal)
	}
	if len(d.rep.list) == before && !idRule.MatchString(w.Signal) {
		d.Report(n.Place, "write it like await: {signal: answer, question: Shall it go on?}", fmt.Sprintf("the signal %q cannot be awaited", w.Signal))
	}
	return w
}

// retries reads a number, or {attempts, backoff}.
func (d *decoder) retries(n *node) retries {
	var r retries
	if n.Kind != plainyaml.Mapping {
		d.count(n, "retries", &r.Attempts, 0, maxRetries)
		return r
	}
	d.known(n, "retries", map[string]func(*node){
		"attempts": func(v *node) { d.count(v, "retries.attempts", &r.Attempts, 0, maxRetries) },
		"backoff":  func(v *node) { d.duration(v, "retries.backoff", &r.Backoff) },
	})
	if r.Attempts == 0 {
		d.Report(n.Place, "write it like retries: {attempts: 2, backoff: 10s}", "retries says no number of attempts")
	}
	return r
}

func (d *decoder) condition(n *node, what string, depth int) *condition {
	c, before := &condition{}, len(d.rep.list)
	if depth > maxNesting {
		d.Report(n.Place, "", fmt.Sprintf("conditions nest more than %d deep", maxNesting))
		return nil
	}
	parts := func(into *[]condition) func(*node) {
		return func(v *node) {
			*into = []condition{}
			if v.Kind != plainyaml.List || len(v.Kids) == 0 {
				d.Report(v.Place, "", "all and any take a list of conditions")
				return
			}
			for _, kid := range v.Kids {
				if part := d.condition(kid, what, depth+1); part != nil {
					*into = append(*into, *part)
				}
			}
		}
	}
	value := func(into *json.RawMessage) func(*node) { return func(v *node) { *into = v.JSON() } }
	d.known(n, what, map[string]func(*node){
		"var":   func(v *node) { d.String(v, "var", &c.Var) },
		"step":  func(v *node) { d.String(v, "step", &c.Step) },
		"is":    value(&c.Is),
		"not":   value(&c.Not),
		"where": value(&c.Where),
		"all":   parts(&c.All),
		"any":   parts(&c.Any),
	})
	if len(d.rep.list) > before {
		return c
	}
	about, tests := 0, 0
	for _, is := range []bool{c.Var != "", c.Step != ""} {
		if is {
			about++
		}
	}
	for _, is := range []bool{c.Is != nil, c.Not != nil, c.Where != nil} {
		if is {
			tests++
		}
	}
	switch groups := c.All != nil || c.Any != nil; {
	case groups && (about+tests > 0 || c.All != nil && c.Any != nil):
		d.Report(n.Place, "put them into all: [{…}, {…}]", what+" holds several conditions at once")
	case groups:
	case about != 1:
		d.Report(n.Place, "write it like {var: verdict, is: approved} or {step: test, is: done}", what+" asks about neither one variable nor one step")
	case tests != 1:
		d.Report(n.Place, "add one of is, not and where", what+" says nothing about the value")
	}
	return c
}
