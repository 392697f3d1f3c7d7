package agents

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// builtIn is the layer of the agents that ship.
const builtIn = "built in"

type linter struct {
	report
	a   *DynamicAgent
	all *tools.Set
	own *tools.Set // what could be found of the agent's tools
}

func (l *linter) unknown(key, name string) {
	help := "see " + hint.Command("tools")
	if near := l.all.Nearest(name); near != "" {
		help = "did you mean " + near + "?"
	}
	l.key(key, Error, help, "there is no tool %s", name)
}

// tools checks each name apart, so that one unknown does not hide another.
func (l *linter) tools() {
	a := l.a
	if a.Tools == nil && a.MCPServers == nil && a.Output == nil && a.Workflow == "" && a.Spawn == nil && path.Ext(a.Source.File) == ".md" && a.Source.Layer != builtIn { // what a pipeline holds is in view
		l.key("", Note, "add tools: to let it read and change files", "the file names no tools: the agent can only answer")
	}
	var found []string
	without := unknownTools(a, l.all)
	for i, name := range a.Tools {
		if ofServer(name) {
			continue
		}
		if slices.Contains(without, name) {
			l.key(fmt.Sprintf("tools.%d", i), Warning, "", "there is no tool %s; it is left out", name)
			continue
		}
		if err := l.all.Unknown(name); err != nil {
			l.unknown(fmt.Sprintf("tools.%d", i), name)
			continue
		}
		found = append(found, name)
	}
	if len(found) > 0 {
		own, err := l.all.Only(found...)
		if err != nil {
			l.key("tools", Error, "", "%v", err)
			return
		}
		l.own = own.Without(a.Deny...)
	}
	for i, name := range a.Deny {
		if !ofServer(name) && !a.Source.Claude && l.all.Unknown(name) != nil {
			l.unknown(fmt.Sprintf("deny.%d", i), name)
		}
	}
	for i, name := range a.Auto {
		if l.all.Unknown(name) != nil {
			l.unknown(fmt.Sprintf("auto.%d", i), name)
		}
	}
	if a.Grant == nil {
		return
	}
	for t := range l.own.All() {
		l.needs(l.at0(t.Name), t)
	}
	if a.Grant.Has(tools.Shell) && a.Grant.Has(tools.Net) && a.Grant.Has(tools.Publish) {
		l.key("grant", Warning, "give the parts to agents of their own", "an agent that may run anything, fetch anything and publish can leak what it reads")
	}
}

// at0 is the key of the entry that selects a tool.
func (l *linter) at0(tool string) string {
	if i := slices.Index(l.a.Tools, tool); i >= 0 {
		return fmt.Sprintf("tools.%d", i)
	}
	return "tools"
}

func (l *linter) needs(key string, t tools.Tool) {
	if l.a.Grant != nil && !l.a.Grant.Has(t.Needs) {
		over := t.Needs &^ *l.a.Grant
		l.key(key, Error, "grant it, or take the tool out", "%s needs %s, which the agent does not grant", t.Name, over)
	}
}

func (l *linter) criterion(c executor.Criterion, key string) {
	set := c.Kinds()
	switch {
	case len(set) > 1:
		l.key(key, Error, "put them into all: [{…}, {…}]", "one condition holds %s", strings.Join(set, " and "))
	case len(set) == 0 && (key != "done" || l.src.Places["done"] != (place{})):
		l.key(key, Error, "give it signal, artifact, tool, check, all or any", "the condition is empty and always holds")
	}
	if c.Where != nil {
		if c.Artifact == "" {
			l.key(key+".where", Error, "name the artifact that it is about", "where stands without artifact")
		}
		if _, err := schema.Exact(c.Where); err != nil {
			l.key(key+".where", Error, "it is a JSON Schema, as in {minLength: 1}", "where: %s", err)
		}
	}
	if c.IsCheck() {
		l.check(c, key+".check")
	}
	if c.IfMissing != nil {
		if !c.IsCheck() {
			l.key(key+".if_missing", Error, "put it beside the check that may have nothing to check", "if_missing stands without check")
		}
		if len(c.IfMissing.Kinds()) == 0 {
			l.key(key+".if_missing", Error, "write for example if_missing: {artifact: diff}", "if_missing is empty and always holds")
		} else {
			l.criterion(*c.IfMissing, key+".if_missing")
		}
	}
	if w := c.When; w != nil {
		if w.Artifact == "" && w.Tool == "" || w.IsCheck() || w.Signal != "" || w.All != nil || w.Any != nil || w.When != nil {
			l.key(key+".when", Error, "write when: {artifact: diff}, or a tool that was called", "when takes an artifact or a tool")
		} else {
			l.criterion(*w, key+".when")
		}
	}
	if c.Artifact != "" && c.Artifact != "diff" {
		l.artifact(c.Artifact, key+".artifact")
	}
	if c.Tool != "" && !ofServer(c.Tool) {
		if _, ok := l.all.Lookup(c.Tool); !ok {
			l.unknown(key+".tool", c.Tool)
		} else if _, ok := l.own.Lookup(c.Tool); !ok {
			l.key(key+".tool", Error, "add it to tools", "the agent does not have %s and can never have called it", c.Tool)
		}
	}
	if c.All != nil && len(c.All) == 0 {
		l.key(key, Error, "list conditions", "all is empty")
	}
	if c.Any != nil && len(c.Any) == 0 {
		l.key(key, Error, "list conditions", "any is empty")
	}
	for i, part := range c.All {
		l.criterion(part, fmt.Sprintf("%s.all.%d", key, i))
	}
	for i, part := range c.Any {
		l.criterion(part, fmt.Sprintf("%s.any.%d", key, i))
	}
}

// artifact refuses one that nothing can make: what no tool of the agent produces, no
// input is, and no workflow, sub-agent or server's tool may bring.
func (l *linter) artifact(name, key string) {
	a := l.a
	if a.Workflow != "" || a.Spawn != nil || slices.ContainsFunc(a.Tools, ofServer) {
		return
	}
	var names []string
	if a.Output != nil {
		names = append(names, "output")
	}
	for _, in := range a.Inputs {
		names = append(names, in.Artifact)
	}
	for t := range l.own.All() {
		names = append(names, t.Produces...)
	}
	for _, check := range a.Done.Checks() {
		if t, ok := l.all.Lookup(check); ok {
			names = append(names, t.Produces...)
		}
	}
	if slices.Contains(names, name) {
		return
	}
	help := "add a tool that produces it; " + hint.Command("tools") + " shows what each produces"
	if near := spelling.Nearest(name, append(names, "diff")); near != "" {
		help = "did you mean " + near + "?"
	}
	l.key(key, Error, help, "nothing that the agent has produces the artifact %s, so that it can never be done", name)
}

// check refuses a check that always passes or never does. What a call proves,
// the tool itself states.
func (l *linter) check(c executor.Criterion, key string) {
	name, args := c.Call()
	t, ok := l.all.Lookup(name)
	if !ok {
		if strings.ContainsAny(name, " /") {
			l.key(key, Error, fmt.Sprintf("a command is written check: {run: %q}", name), "there is no tool %s", name)
			return
		}
		l.unknown(key, name)
		return
	}
	l.needs(key, t)
	if c.Run != "" {
		return // its exit code
	}
	if t.Proves == "" {
		l.key(key, Error, "name one of "+strings.Join(l.provers(), ", ")+", or {run: COMMAND}; a tool of your own sets Metadata.Proves", "%s cannot be a check: nothing says what its success proves", name)
		return
	}
	if fault, help := t.CheckFault(args); fault != "" {
		l.key(key, Error, help, "%s", fault)
	}
}

// provers are the tools that can be a check.
func (l *linter) provers() (names []string) {
	for t := range l.all.All() {
		if t.Proves != "" {
			names = append(names, t.Name)
		}
	}
	return names
}
