package pipeline

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/agentfile"
	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/internal/plainyaml"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// maxFile bounds the file of a pipeline, in bytes: what is larger is none, and
// may be an attack on the reader.
const maxFile = 1 << 20

// Parse reads the text of a pipeline. name is the file's name, for problems,
// and gives the pipeline its name unless the text does. The pipeline is nil if
// the text cannot be read at all; with other errors among the problems it is as
// much as was understood. Whether what it names exists is for [Lint].
func Parse(name string, src []byte) (*Pipeline, agents.Problems) {
	return parse(Source{File: name}, src)
}

func parse(from Source, src []byte) (*Pipeline, agents.Problems) {
	rep := &report{src: from}
	root := read(src, rep)
	if root == nil {
		return nil, rep.list.Sort()
	}
	rep.src.at = map[string]plainyaml.Place{}
	root.Places("", rep.src.at)
	p := &Pipeline{Name: strings.TrimSuffix(strings.TrimSuffix(path.Base(from.File), ".yaml"), ".yml"), Source: rep.src}
	d := &decoder{rep: rep, p: p, Decoder: plainyaml.Decoder{Nearest: spelling.Nearest}}
	d.Report = func(at plainyaml.Place, hint, words string) { rep.at(at, agents.Error, hint, "%s", words) }
	d.pipeline(root)
	return p, rep.list.Sort()
}

// read gives the nodes of a text, after what could make reading it a burden.
func read(src []byte, rep *report) *plainyaml.Node {
	top := plainyaml.At(1, 1)
	if len(src) > maxFile {
		rep.at(top, agents.Error, "keep long texts in files that the agents read", "the file has %d bytes; a pipeline has at most %d", len(src), maxFile)
		return nil
	}
	if !utf8.Valid(src) {
		rep.at(top, agents.Error, "save it as UTF-8", "the file is not valid UTF-8")
		return nil
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(src), "\ufeff"), "\r\n", "\n")
	doc, err := plainyaml.Parse(text, 1)
	if err != nil {
		rep.at(err.Place, agents.Error, err.Hint, "the file %s", err.Message)
		return nil
	}
	return doc.Read(func(p plainyaml.Place, hint, words string) { rep.at(p, agents.Error, hint, "%s", words) })
}

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
	case "depends_on":
		return "needs"
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

func (d *decoder) pipeline(n *node) {
	p := d.p
	seen := d.known(n, "", map[string]func(*node){
		"name":        func(v *node) { d.String(v, "name", &p.Name) },
		"description": func(v *node) { d.String(v, "description", &p.Description) },
		"inputs":      d.inputs,
		"variables":   func(v *node) { p.Variables = d.values(v, "variables") },
		"defaults":    d.defaults,
		"limits":      func(v *node) { p.Limits = d.limits(v, "limits") },
		"onFailure":   d.policy,
		"recovery":    d.recovery,
		"max_steps":   func(v *node) { d.Whole(v, "max_steps", &p.MaxSteps) },
		"steps":       func(v *node) { p.Steps = d.list(v, "steps", 1) },
	})
	if !nameRule.MatchString(p.Name) {
		d.rep.bad("name", "use lower case letters, digits, - and _, as in fix-bug", "the name %q cannot be used", p.Name)
	}
	if !seen["steps"] || len(p.Steps) == 0 {
		d.rep.bad("steps", "list at least one under steps:", "the pipeline has no steps")
	}
}

// inputs reads name: description, or name: {description, optional, default}.
func (d *decoder) inputs(n *node) {
	if n.Kind != plainyaml.Mapping {
		d.Report(n.Place, "write it like issue: The issue to fix.", fmt.Sprintf("inputs is %s, not names with descriptions", n.Kind))
		return
	}
	for i, k := range n.Keys {
		f, v := agents.Field{Name: k.Text}, n.Kids[i]
		d.variable(k, k.Text)
		if v.Kind == plainyaml.Mapping {
			d.known(v, "inputs."+k.Text, map[string]func(*node){
				"description": func(v *node) { d.String(v, "description", &f.Description) },
				"optional":    func(v *node) { d.Bool(v, "optional", &f.Optional) },
				"default":     func(v *node) { f.Default, f.Optional = v.JSON(), true },
			})
		} else {
			d.String(v, "inputs."+k.Text, &f.Description)
		}
		d.p.Inputs = append(d.p.Inputs, f)
	}
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

func (d *decoder) defaults(n *node) {
	f := &d.p.Defaults
	d.known(n, "defaults", map[string]func(*node){
		"model":  func(v *node) { d.String(v, "defaults.model", &f.Model) },
		"limits": func(v *node) { f.Limits = d.limits(v, "defaults.limits") },
		"context": func(v *node) {
			d.known(v, "defaults.context", map[string]func(*node){
				"each": func(v *node) { d.count(v, "defaults.context.each", &f.Context.Each, 1, maxFile) },
				"all":  func(v *node) { d.count(v, "defaults.context.all", &f.Context.All, 1, maxFile) },
			})
		},
	})
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
	l, problems := agentfile.InlineLimits(d.rep.src.File, n, what)
	d.rep.list = append(d.rep.list, problems...)
	return l
}

func (d *decoder) policy(n *node) {
	s, bounds := d.failure(n)
	if p := Policy(s); slices.Contains(Policies, p) {
		d.p.OnFailure, d.p.Coordinate = p, bounds
		return
	}
	d.Report(n.Place, near(s, policyNames(), "it is one of "+strings.Join(policyNames(), ", ")),
		fmt.Sprintf("onFailure of the pipeline is %q", s))
}

// failure reads onFailure: a word, or {coordinate: {…}}.
func (d *decoder) failure(n *node) (string, *Coordinate) {
	if n.Kind != plainyaml.Mapping {
		var s string
		d.String(n, "onFailure", &s)
		return s, nil
	}
	c := &Coordinate{}
	seen := d.known(n, "onFailure", map[string]func(*node){"coordinate": func(v *node) {
		d.known(v, "coordinate", map[string]func(*node){
			"attempts": func(v *node) { d.count(v, "coordinate.attempts", &c.Attempts, 1, maxRetries) },
			"escalate": func(v *node) {
				d.String(v, "coordinate.escalate", &c.Escalate)
				if err := (coordinator.Options{Escalate: c.Escalate}).Check(); err != nil {
					d.Report(v.Place, "", err.Error())
				}
			},
			"wait":   func(v *node) { d.duration(v, "coordinate.wait", &c.Wait) },
			"agents": func(v *node) { c.Agents = d.Names(v, "coordinate.agents") },
			"keep":   func(v *node) { d.Bool(v, "coordinate.keep", &c.Keep) },
			"memory": func(v *node) {
				d.String(v, "coordinate.memory", &c.Memory)
				if err := (coordinator.Options{Choice: coordinator.Choice{Memory: c.Memory}}).Check(); err != nil {
					d.Report(v.Place, "", err.Error())
				}
			},
			"supervise": func(v *node) { c.Supervise = d.supervisor(v) },
		})
	}})
	if !seen["coordinate"] {
		d.Report(n.Place, "write it like onFailure: {coordinate: {attempts: 2, escalate: report}}", "onFailure has no coordinate")
	}
	return string(Repair), c
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

func policyNames() (out []string) {
	for _, p := range Policies {
		out = append(out, string(p))
	}
	return out
}

// recovery reads an agent, or {agent, attempts}.
func (d *decoder) recovery(n *node) {
	r := &Recovery{}
	d.p.Recovery = r
	if n.Kind != plainyaml.Mapping {
		r.Agent = d.agent(n, "recovery")
		return
	}
	seen := d.known(n, "recovery", map[string]func(*node){
		"agent":    func(v *node) { r.Agent = d.agent(v, "recovery") },
		"model":    func(v *node) { d.String(v, "recovery.model", &r.Model) },
		"attempts": func(v *node) { d.count(v, "recovery.attempts", &r.Attempts, 1, maxRetries) },
	})
	if !seen["agent"] {
		d.Report(n.Place, "write it like recovery: {agent: NAME, attempts: 2}", "recovery names no agent")
	}
}

// agent reads the name of one, or one written out.
func (d *decoder) agent(n *node, id string) Agent {
	if n.Kind != plainyaml.Mapping {
		var a Agent
		d.String(n, "agent", &a.Name)
		return a
	}
	a, problems := agentfile.Inline(d.rep.src.File, agentName(id), n)
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

func (d *decoder) duration(n *node, what string, into *time.Duration) {
	d.Duration(n, what, into)
	if *into < 0 {
		d.Report(n.Place, "", what+" is negative")
		*into = 0
	}
}
