package pipeline

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
)

// MaxFile bounds the file of a pipeline, in bytes: what is larger is none, and
// may be an attack on the reader.
const MaxFile = 1 << 20

// Parse reads the text of a pipeline. name is the file's name, for problems,
// and gives the pipeline its name unless the text does. The pipeline is nil if
// the text cannot be read at all; with other errors among the problems it is as
// much as was understood. Whether what it names exists is for [Lint].
func Parse(name string, src []byte) (*Pipeline, agents.Problems) {
	return parse(source{File: name}, src)
}

func parse(from source, src []byte) (*Pipeline, agents.Problems) {
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
	if len(src) > MaxFile {
		rep.at(top, agents.Error, "keep long texts in files that the agents read", "the file has %d bytes; a pipeline has at most %d", len(src), MaxFile)
		return nil
	}
	text, err := rootfs.Plain(src)
	if err != nil {
		rep.at(top, agents.Error, "", "the file cannot be read: %v", err)
		return nil
	}
	doc, bad := plainyaml.Parse(strings.ReplaceAll(text, "\r\n", "\n"), 1)
	if bad != nil {
		rep.at(bad.Place, agents.Error, bad.Hint, "the file %s", bad.Message)
		return nil
	}
	return doc.Read(func(p plainyaml.Place, hint, words string) { rep.at(p, agents.Error, hint, "%s", words) })
}

func (d *decoder) pipeline(n *node) {
	p, read := d.p, false
	d.known(n, "", map[string]func(*node){
		"name":        func(v *node) { d.String(v, "name", &p.Name) },
		"description": func(v *node) { d.String(v, "description", &p.Description) },
		"inputs":      d.inputs,
		"variables":   func(v *node) { p.Variables = d.values(v, "variables") },
		"defaults":    d.defaults,
		"limits":      func(v *node) { p.Limits = d.limits(v, "limits") },
		"onFailure":   d.policy,
		"recovery":    d.recovery,
		"max_steps":   func(v *node) { d.count(v, "max_steps", &p.MaxSteps, 1, maxMaxSteps) },
		"steps":       func(v *node) { p.Steps, read = d.list(v, "steps", 1), true },
	})
	if !nameRule.MatchString(p.Name) {
		d.rep.bad("name", "use lower case letters, digits, - and _, as in fix-bug", "the name %q cannot be used", p.Name)
	}
	if !read || p.Steps != nil && len(p.Steps) == 0 {
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

func (d *decoder) defaults(n *node) {
	f := &d.p.Defaults
	d.known(n, "defaults", map[string]func(*node){
		"model":  func(v *node) { d.String(v, "defaults.model", &f.Model) },
		"limits": func(v *node) { f.Limits = d.limits(v, "defaults.limits") },
		"context": func(v *node) {
			d.known(v, "defaults.context", map[string]func(*node){
				"each": func(v *node) { d.count(v, "defaults.context.each", &f.Context.Each, 1, MaxFile) },
				"all":  func(v *node) { d.count(v, "defaults.context.all", &f.Context.All, 1, MaxFile) },
			})
		},
	})
}

func (d *decoder) policy(n *node) {
	s, bounds := d.failure(n)
	if p := failurePolicy(s); slices.Contains(policies, p) {
		d.p.OnFailure, d.p.Coordinate = p, bounds
		return
	}
	d.Report(n.Place, near(s, policyNames(), "it is one of "+strings.Join(policyNames(), ", ")),
		fmt.Sprintf("onFailure of the pipeline is %q", s))
}

// recovery reads an agent, or {agent, attempts}.
func (d *decoder) recovery(n *node) {
	r := &recovery{}
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
