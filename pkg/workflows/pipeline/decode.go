package pipeline

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

type node = plainyaml.Node

// A decoder fills a pipeline from nodes and goes on after problems.
type decoder struct {
	plainyaml.Decoder
	rep   *report
	p     *Pipeline
	steps int
}

// otherwise gives the key that is meant by one that is written so elsewhere.
func otherwise(key string) string {
	switch key {
	case "on_success", "onsuccess", "on-success":
		return "onSuccess"
	case "on_failure", "onfailure", "on-failure":
		return "onFailure"
	case "maxSteps":
		return "max_steps"
	case "recoveryAgent", "recovery_agent":
		return "recovery"
	case "depends_on", "dependsOn", "after":
		return "needs"
	case "prompt":
		return "input"
	case "command", "cmd", "shell", "script":
		return "run"
	case "if", "condition":
		return "when"
	}
	return ""
}

// known hands keys to their funcs, and reports the spelling of some that are
// written otherwise elsewhere.
func (d *decoder) known(n *node, of string, fields map[string]func(*node)) map[string]bool {
	if n.Kind == plainyaml.Mapping {
		rest := *n
		rest.Keys, rest.Kids = nil, nil
		for i, k := range n.Keys {
			if right := otherwise(k.Text); fields[k.Text] == nil && fields[right] != nil {
				d.Report(k.Place, "write "+right, fmt.Sprintf("unknown key %q: it is spelled %s here", k.Text, right))
				continue
			}
			rest.Keys, rest.Kids = append(rest.Keys, k), append(rest.Kids, n.Kids[i])
		}
		n = &rest
	}
	return d.Fields(n, of, fields)
}

// variable checks the name of one.
func (d *decoder) variable(n *node, name string) {
	switch {
	case name == "input" || name == "steps":
		d.Report(n.Place, "choose another name", fmt.Sprintf("{{%s}} is there already", name))
	case !varRule.MatchString(name):
		d.Report(n.Place, "use letters, digits and _, as in plan", fmt.Sprintf("the variable %q cannot be named so", name))
	}
}

// values reads a mapping of any values.
func (d *decoder) values(n *node, what string) map[string]json.RawMessage {
	if n.Kind != plainyaml.Mapping {
		d.Report(n.Place, "", fmt.Sprintf("%s is %s, not names with values", what, n.Kind))
		return nil
	}
	out := map[string]json.RawMessage{}
	for i, k := range n.Keys {
		if what == "variables" {
			d.variable(k, k.Text)
		}
		if _, twice := out[k.Text]; twice {
			d.Report(k.Place, "", k.Text+" is there twice")
		}
		out[k.Text] = n.Kids[i].JSON()
	}
	return out
}

// count reads a whole number between bounds.
func (d *decoder) count(n *node, what string, into *int, least, most int) {
	v := least
	d.Whole(n, what, &v)
	if v < least || v > most {
		d.Report(n.Place, "", fmt.Sprintf("%s is %d; it is from %d to %d", what, v, least, most))
		return
	}
	*into = v
}

func (d *decoder) limits(n *node, what string) executor.Limits {
	l, problems := agents.InlineLimits(d.rep.src.File, n, what)
	d.rep.list = append(d.rep.list, problems...)
	return l
}

func (d *decoder) duration(n *node, what string, into *time.Duration) {
	d.Duration(n, what, into)
	if *into < 0 {
		d.Report(n.Place, "", what+" is negative")
		*into = 0
	}
}

// failure reads onFailure: a word, or {coordinate: {…}}.
func (d *decoder) failure(n *node) (string, *coordinator.Bounds) {
	if n.Kind != plainyaml.Mapping {
		var s string
		d.String(n, "onFailure", &s)
		return s, nil
	}
	c := &coordinator.Bounds{}
	seen := d.known(n, "onFailure", map[string]func(*node){"coordinate": func(v *node) {
		d.known(v, "coordinate", map[string]func(*node){
			"attempts": func(v *node) { d.count(v, "coordinate.attempts", &c.Attempts, 1, maxRetries) },
			"escalate": func(v *node) {
				d.String(v, "coordinate.escalate", &c.Escalate)
				if err := (coordinator.Options{Bounds: coordinator.Bounds{Escalate: c.Escalate}}).Check(); err != nil {
					d.Report(v.Place, "", err.Error())
				}
			},
			"wait":   func(v *node) { d.duration(v, "coordinate.wait", &c.Wait) },
			"agents": func(v *node) { c.Agents = d.Names(v, "coordinate.agents") },
			"keep":   func(v *node) { d.Bool(v, "coordinate.keep", &c.Keep) },
			"memory": func(v *node) {
				d.String(v, "coordinate.memory", &c.Memory)
				if err := (coordinator.Options{Bounds: coordinator.Bounds{Memory: c.Memory}}).Check(); err != nil {
					d.Report(v.Place, "", err.Error())
				}
			},
			"supervise": func(v *node) { c.Supervise = d.supervisor(v) },
		})
	}})
	if !seen["coordinate"] {
		d.Report(n.Place, "write it like onFailure: {coordinate: {attempts: 2, escalate: report}}", "onFailure has no coordinate")
	}
	return string(policyCoordinate), c
}

// supervisor reads true, false or the name of an agent.
func (d *decoder) supervisor(n *node) (name string) {
	switch n.Text {
	case "true":
		return coordinator.Supervisor
	case "false":
		return ""
	}
	d.String(n, "coordinate.supervise", &name)
	return name
}

// agent reads the name of one, or one written out.
func (d *decoder) agent(n *node, id string) Agent {
	if n.Kind != plainyaml.Mapping {
		var a Agent
		d.String(n, "agent", &a.Name)
		return a
	}
	a, problems := agents.Inline(d.rep.src.File, agentName(id), n)
	d.rep.list = append(d.rep.list, problems...)
	a.Source.Layer = d.rep.src.Layer
	return Agent{Name: a.Name, Spec: a}
}

// agentName makes a name for an agent of a step.
func agentName(id string) string {
	name := strings.ToLower(id)
	if !nameRule.MatchString(name) {
		return "agent"
	}
	return name
}
