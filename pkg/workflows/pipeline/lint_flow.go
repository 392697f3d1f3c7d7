package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
)

// from gives the steps that can be reached from one, itself only by a cycle,
// without passing through steps that avoid has.
func from(g [][]edge, start []int, avoid func(int) bool, take func(int, edge) bool) []bool {
	seen := make([]bool, len(g)+1)
	todo := start
	for len(todo) > 0 {
		i := todo[0]
		todo = todo[1:]
		if i >= len(g) || avoid(i) {
			continue
		}
		for _, e := range g[i] {
			if take(i, e) && !seen[e.to] {
				seen[e.to] = true
				todo = append(todo, e.to)
			}
		}
	}
	return seen
}

func never(int) bool        { return false }
func always(int, edge) bool { return true }

func (l *linter) reachable(g [][]edge) {
	seen := from(g, []int{0}, never, always)
	for i := range g {
		if i > 0 && !seen[i] {
			l.bad(fmt.Sprintf("steps.%d", i), "jump to it, or take it out", "no step leads to %s", l.p.Steps[i].ID)
		}
	}
}

// order reports steps that need one which never comes before them.
func (l *linter) order(g [][]edge) {
	l.each(l.p.Steps, "steps", func(key string, s *Step) {
		for n, id := range s.Needs {
			target, ok := l.ids[id]
			if ok && index(target) != index(key) && !from(g, []int{index(target)}, never, always)[index(key)] {
				l.bad(fmt.Sprintf("%s.needs.%d", key, n), "put it behind "+id, "%s is always skipped: %s comes after it", s.ID, id)
			}
		}
	})
}

// cycles reports each that no max bounds.
func (l *linter) cycles(g [][]edge) {
	reported := map[int]bool{}
	for i := range g {
		if l.p.Steps[i].Max > 0 || reported[i] {
			continue
		}
		capped := func(j int) bool { return l.p.Steps[j].Max > 0 }
		if !from(g, []int{i}, capped, always)[i] {
			continue
		}
		// All on the way are the same mistake.
		var names []string
		for j := range g {
			if capped(j) || !from(g, []int{i}, capped, always)[j] || !from(g, []int{j}, capped, always)[i] {
				continue
			}
			reported[j] = true
			names = append(names, l.p.Steps[j].ID)
		}
		if at := fmt.Sprintf("steps.%d", i); len(names) == 1 {
			l.bad(at, "give it max: 3", "%s may follow itself for ever", names[0])
		} else {
			l.bad(at, "give one of them max: 3", "%s may follow each other for ever", strings.Join(names, ", "))
		}
	}
}

// An access is a place where a step reads a value.
type access struct {
	key  string
	path []string
	own  bool // the step's own output is there already
}

// data checks that every value that is read has been written by then.
func (l *linter) data(g [][]edge) {
	writers := map[string][]int{} // of variables and of steps.ID
	l.each(l.p.Steps, "steps", func(key string, s *Step) {
		i := index(key)
		writers["steps."+s.ID] = append(writers["steps."+s.ID], i)
		if s.Output != "" {
			writers[s.Output] = append(writers[s.Output], i)
		}
	})
	given := map[string]bool{"input": true}
	for _, f := range l.p.Inputs {
		given[f.Name] = true
	}
	for v := range l.p.Variables {
		given[v] = true
	}
	seen := map[string]bool{}
	l.each(l.p.Steps, "steps", func(key string, s *Step) {
		for _, r := range l.reads(key, s) {
			id := r.key + " " + strings.Join(r.path, ".")
			if seen[id] || len(seen) > maxValues {
				continue
			}
			if seen[id] = true; len(seen) > maxValues {
				l.bad(r.key, "make parts of it pipelines of their own", "the pipeline reads values in more than %d places", maxValues)
				continue
			}
			l.value(g, s, r, given, writers)
		}
	})
}

// index is the position of the step that a key is in, groups as a whole.
func index(key string) int {
	var i int
	fmt.Sscanf(key, "steps.%d", &i)
	return i
}

func (l *linter) value(g [][]edge, s *Step, r access, given map[string]bool, writers map[string][]int) {
	name, words := r.path[0], strings.Join(r.path, ".")
	if given[name] {
		return
	}
	if name == "steps" {
		if !l.field(r) {
			return
		}
		name = "steps." + r.path[1]
	}
	all, known := writers[name]
	if !known {
		names := append(sorted(given), slices.DeleteFunc(sorted(writers), func(v string) bool { return strings.HasPrefix(v, "steps.") })...)
		slices.Sort(names)
		l.bad(r.key, near(name, names, ""), "there is no variable %s", name)
		return
	}
	here := index(r.key)
	if r.own && (s.Output == name || "steps."+s.ID == name || strings.HasPrefix(name, "steps.") && l.inside(s, r.path[1])) {
		return
	}
	// Those that run before this step for the first time.
	before := from(g, []int{0}, func(i int) bool { return i == here }, always)
	before[0] = true
	others := slices.DeleteFunc(slices.Clone(all), func(w int) bool {
		return w == here || !before[w] || !from(g, []int{w}, never, always)[here]
	})
	if len(others) == 0 {
		l.bad(r.key, hintUnset(name), "{{%s}} is read in %s before any step has written it", words, s.ID)
		return
	}
	// Is there a way on which none of them binds it?
	bare := from(g, []int{0}, func(i int) bool { return i == here }, func(i int, e edge) bool {
		return !slices.Contains(others, i) || !e.bound && (e.why == "skipped" || !strings.HasPrefix(name, "steps."))
	})
	if here == 0 || bare[here] {
		l.at(l.src.place(r.key), agents.Warning, hintUnset(name), "{{%s}} has no value in %s if the steps that write it were skipped or failed", words, s.ID)
	}
}

func hintUnset(name string) string {
	if strings.HasPrefix(name, "steps.") {
		return "use a variable, and give it a value to begin with under variables:"
	}
	return "give it a value to begin with, as in variables: {" + name + `: ""}`
}

// inside reports whether a step of the group s has the id.
func (l *linter) inside(s *Step, id string) bool {
	found := false
	l.each(s.Parallel, "", func(_ string, kid *Step) { found = found || kid.ID == id })
	return found
}

// field checks a path below steps.
func (l *linter) field(r access) bool {
	known := []string{"output", "value", "status", "error", "artifacts"}
	switch {
	case len(r.path) < 3:
		l.bad(r.key, "write it like {{steps.scout.output}}", "{{%s}} is not a value", strings.Join(r.path, "."))
	case l.ids[r.path[1]] == "":
		l.bad(r.key, near(r.path[1], sorted(l.ids), ""), "there is no step %s", r.path[1])
	case !slices.Contains(known, r.path[2]):
		l.bad(r.key, near(r.path[2], known, ""), "a step has no %s", r.path[2])
	default:
		return r.path[2] != "status" // one that has not run has a status, too
	}
	return false
}

// reads lists what a step reads, with the place of each.
func (l *linter) reads(key string, s *Step) []access {
	var out []access
	add := func(key string, own bool, ps []piece, err *templateError, tmpl string) {
		if err != nil {
			l.at(l.offset(key, tmpl, err.pos), agents.Error, err.hint, "%s", err.words)
			return
		}
		for _, p := range ps {
			if p.path != nil {
				out = append(out, access{key, p.path, own})
			}
		}
	}
	tmpl := func(key, s string) {
		ps, err := split(s)
		add(key, false, ps, err, s)
	}
	tmpl(key+".input", s.Input)
	for _, name := range sorted(s.Inputs) {
		ps, err := paths(s.Inputs[name])
		add(key+".inputs."+name, false, ps, err, "")
	}
	if s.Args != nil {
		var args map[string]json.RawMessage
		if json.Unmarshal(s.Args, &args) == nil {
			for _, name := range sorted(args) {
				ps, err := paths(args[name])
				add(key+".args."+name, false, ps, err, "")
			}
		}
	}
	if s.Await != nil {
		tmpl(key+".await.question", s.Await.Question)
	}
	for _, c := range []struct {
		name string
		c    *condition
	}{{"when", s.When}, {"until", s.Until}} {
		c.c.each(key+"."+c.name, func(key string, part *condition) {
			if part.Var != "" {
				out = append(out, access{key + ".var", strings.Split(part.Var, "."), c.name == "until"})
			}
		})
	}
	return out
}

// offset is the place of a byte of a template, as far as it can be shown.
func (l *linter) offset(key, tmpl string, pos int) plainyaml.Place {
	at := l.src.place(key)
	if pos = min(pos, len(tmpl)); at.Line > 0 {
		at.Line += strings.Count(tmpl[:pos], "\n")
	}
	return at
}

// pipeline checks a step that is one, and that what it needs is given.
func (l *linter) pipeline(key string, s *Step) {
	found := s.Pipeline.Spec
	if found == nil {
		var err error
		found, err = l.k.Pipelines.Lookup(s.Pipeline.Name)
		if errors.As(err, new(*UnknownError)) {
			l.bad(key+".pipeline", near(s.Pipeline.Name, l.k.Pipelines.Names(), hint.Command("pipelines list")+" lists the pipelines"), "there is no pipeline %s", s.Pipeline.Name)
			return
		}
		if err != nil {
			l.bad(key+".pipeline", "", "the pipeline %s cannot be used: %s", s.Pipeline.Name, spelling.FirstLine(err.Error()))
			return
		}
	}
	var names []string
	for _, f := range found.Inputs {
		names = append(names, f.Name)
		if _, ok := s.Inputs[f.Name]; !ok && !f.Optional {
			l.bad(key, fmt.Sprintf("add inputs: {%s: …}", f.Name), "the pipeline %s needs the input %s", found.Name, f.Name)
		}
	}
	for _, name := range sorted(s.Inputs) {
		if !slices.Contains(names, name) {
			l.bad(key+".inputs."+name, near(name, names, ""), "the pipeline %s takes no input %s", found.Name, name)
		}
	}
}

// within refuses pipelines that contain themselves.
func (l *linter) within() {
	l.each(l.p.Steps, "steps", func(key string, s *Step) {
		if s.Pipeline == nil {
			return
		}
		if way := l.back(s.Pipeline, []string{l.p.Name}); way != nil {
			l.bad(key+".pipeline", "repeat a step with until: and max:, or jump back to one", "a pipeline cannot contain itself: %s", strings.Join(way, " > "))
		}
	})
}

// back follows pipelines down; it gives the way to one that is on it already,
// or to one that lies too deep.
func (l *linter) back(w *within, way []string) []string {
	next := append(slices.Clip(way), w.Name)
	if slices.Contains(way, w.Name) || len(next) > maxNesting+1 {
		return next
	}
	p := w.Spec
	if p == nil {
		var err error
		if p, err = l.k.Pipelines.Lookup(w.Name); err != nil {
			return nil
		}
	}
	var found []string
	l.each(p.Steps, "", func(_ string, s *Step) {
		if s.Pipeline != nil && found == nil {
			found = l.back(s.Pipeline, next)
		}
	})
	return found
}
