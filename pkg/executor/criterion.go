package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/executor/stepio"
	"github.com/adroit-run/adroit/internal/schema"
)

// A Criterion is a condition on a State that can say why it does not hold.
// One of Signal, Artifact, Tool, Check, Run, All and Any is set; the zero
// Criterion holds as soon as the model stops calling tools. In JSON it is
// written as in agent files: see docs/agents.md for Check, With and Run.
type Criterion struct {
	Signal   string          // the model called finish, or said the word on a line of its own
	Artifact string          // this artifact exists …
	Where    json.RawMessage // … and satisfies this JSON Schema
	Tool     string          // this tool was called with success at least once
	Check    string          // this tool, run by the executor itself, succeeds …
	With     json.RawMessage // … with these arguments
	Run      string          // this command line, run by the executor itself, ends with exit code 0
	// IfMissing goes with Check. It must hold instead where there was nothing to
	// check when the job began, and still is nothing: tests in a project without
	// any. Nil: the run ends, since no work of the model makes the check pass.
	IfMissing *Criterion
	All       []Criterion
	Any       []Criterion
}

// A verdict reports of each part of a criterion whether it holds, in words fit
// for the model and for people. Unchecked has the checks that neither passed
// nor failed; those that nothing is accepted for are in Unmet, too.
type verdict struct{ Met, Unmet, Unchecked []string }

func (v *verdict) add(w verdict) {
	v.Met = append(v.Met, w.Met...)
	v.Unmet = append(v.Unmet, w.Unmet...)
	v.Unchecked = append(v.Unchecked, w.Unchecked...)
}

func met(format string, args ...any) verdict {
	return verdict{Met: []string{fmt.Sprintf(format, args...)}}
}

func unmet(format string, args ...any) verdict {
	return verdict{Unmet: []string{fmt.Sprintf(format, args...)}}
}

// Unmet returns nil if c holds of s, or else an error fit to show the model.
// It calls check with each part that is a check, and only if nothing else is
// amiss.
func (c Criterion) Unmet(s *State, check func(Criterion) error) error {
	v := c.judge(s, check)
	if len(v.Unmet) == 0 {
		return nil
	}
	return errors.New(strings.Join(v.Unmet, "\n"))
}

// judge is Unmet with the parts that hold.
func (c Criterion) judge(s *State, check func(Criterion) error) verdict {
	switch {
	case c.Signal != "":
		if s.Claim == nil || s.Claim.Word != c.Signal && s.Claim.Word != finish {
			if s.finishOffered {
				return unmet("call finish when you are done")
			}
			return unmet("say %s on a line of its own, or call finish, when you are done", c.Signal)
		}
		if s.Claim.Word == finish {
			return met("finish called")
		}
		return met("%s said", c.Signal)
	case c.Artifact != "":
		return c.artifact(s)
	case c.Tool != "":
		if s.called(c.Tool) == 0 {
			return unmet("%s has not been called with success", c.Tool)
		}
		return met("%s called", c.Tool)
	case c.IsCheck():
		return c.judgeCheck(s, check)
	case c.All != nil:
		return c.all(s, check)
	case c.Any != nil:
		return c.any(s, check)
	}
	return verdict{}
}

func (c Criterion) artifact(s *State) verdict {
	v := s.Value(c.Artifact)
	nothing := c.Artifact == "diff" && s.plain && !changed(v) && c.uncertain(s) == ""
	if v == nil && nothing {
		return unmet("no file has been changed")
	}
	if v == nil {
		return unmet("artifact %q has not been produced%s", c.Artifact, c.uncertain(s))
	}
	if len(c.Where) > 0 {
		schema, err := schema.Compile(c.Where)
		if err != nil {
			return unmet("artifact %q: its schema cannot be used: %v", c.Artifact, err)
		}
		if faults := schema.Validate(v); len(faults) > 0 {
			if nothing {
				return unmet("no file has been changed")
			}
			var w verdict
			for _, f := range faults {
				w.add(unmet("artifact %q: %s%s", c.Artifact, f, c.uncertain(s)))
			}
			return w
		}
	}
	return met("%s produced", c.Artifact)
}

// changed reports whether the artifact diff has a change.
func changed(diff json.RawMessage) bool {
	var text string
	return diff != nil && (json.Unmarshal(diff, &text) != nil || text != "")
}

// uncertain states why changes that are there do not count.
func (c Criterion) uncertain(s *State) string {
	var paths []string
	if c.Artifact != "diff" || json.Unmarshal(s.Value(stepio.UncertainChanges), &paths) != nil || len(paths) == 0 {
		return ""
	}
	more := ""
	if n := len(paths); n > 5 {
		paths, more = paths[:5], fmt.Sprintf(" and %d more", n-5)
	}
	return fmt.Sprintf("; %s%s changed while a command ran, which does not show who changed it, and does not count: make changes with the tools for files, or with commands at sandbox level full or bubblewrap", strings.Join(paths, ", "), more)
}

// all judges the cheap parts first: checks cost time and are run only when
// they are all that is left.
func (c Criterion) all(s *State, check func(Criterion) error) verdict {
	var v verdict
	for _, part := range c.All {
		if !part.checks() {
			v.add(part.judge(s, check))
		}
	}
	if len(v.Unmet) > 0 {
		return v
	}
	for _, part := range c.All {
		if part.checks() {
			v.add(part.judge(s, check))
		}
	}
	return v
}

func (c Criterion) any(s *State, check func(Criterion) error) verdict {
	var lacks []string
	hopeless := len(c.Any) > 0
	for _, part := range c.Any {
		v := part.judge(s, check)
		if len(v.Unmet) == 0 {
			return v
		}
		hopeless = hopeless && v.hopeless()
		lacks = append(lacks, strings.Join(v.Unmet, " and "))
	}
	v := unmet("one of these must hold: %s", strings.Join(lacks, "; or "))
	if hopeless {
		v.Unchecked = v.Unmet
	}
	return v
}

// wants reports whether no answer in words can fulfil c as things stand: an
// artifact or a call is missing. Whether a check would pass is not asked.
func (c Criterion) wants(s *State) bool {
	lacks := func(p Criterion) bool { return p.wants(s) }
	switch {
	case c.Artifact != "":
		return s.Value(c.Artifact) == nil
	case c.Tool != "":
		return s.called(c.Tool) == 0
	case c.All != nil:
		return slices.ContainsFunc(c.All, lacks)
	case c.Any != nil:
		return !slices.ContainsFunc(c.Any, func(p Criterion) bool { return !p.wants(s) })
	}
	return false
}

func (c Criterion) parts() []Criterion { return slices.Concat(c.All, c.Any) }

func (c Criterion) checks() bool {
	return c.IsCheck() || slices.ContainsFunc(c.parts(), Criterion.checks)
}

// Signals lists the words that c listens for, and Checks the tools it runs;
// each once, in order of appearance.
func (c Criterion) Signals() []string {
	return c.collect(func(c Criterion) string { return c.Signal })
}

// Tools lists the tools that c cannot hold without: those that must have been
// called and those that are checks.
func (c Criterion) Tools() []string {
	return append(c.collect(func(c Criterion) string { return c.Tool }), c.Checks()...)
}

// Checks lists the tools that c has the executor run, also in place of checks
// that have nothing to check.
func (c Criterion) Checks() []string {
	return c.collect(func(c Criterion) string {
		tool, _ := c.Call()
		return tool
	})
}

// Artifacts lists the artifacts that c cannot hold without.
func (c Criterion) Artifacts() []string {
	return c.collect(func(c Criterion) string { return c.Artifact })
}

func (c Criterion) collect(f func(Criterion) string) []string {
	var out []string
	if v := f(c); v != "" {
		out = append(out, v)
	}
	parts := c.parts()
	if c.IfMissing != nil {
		parts = append(parts, *c.IfMissing)
	}
	for _, part := range parts {
		for _, v := range part.collect(f) {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// Describe states in one line each what must hold, for prompts and listings.
func (c Criterion) Describe() []string {
	switch {
	case c.Signal != "":
		return []string{"you call finish, or say " + c.Signal + " on a line of its own"}
	case c.Artifact == "diff":
		return []string{"a file was changed"}
	case c.Artifact != "" && len(c.Where) > 0:
		return []string{fmt.Sprintf("artifact %q exists and satisfies %s", c.Artifact, c.Where)}
	case c.Artifact != "":
		return []string{fmt.Sprintf("artifact %q exists", c.Artifact)}
	case c.Tool != "":
		return []string{c.Tool + " was called with success"}
	case c.IsCheck():
		return []string{c.Label() + " passes; it is run for you when all else holds"}
	case c.All != nil:
		var out []string
		for _, part := range c.All {
			out = append(out, part.Describe()...)
		}
		return out
	case c.Any != nil:
		var out []string
		for _, part := range c.Any {
			out = append(out, strings.Join(part.Describe(), " and "))
		}
		return []string{"one of: " + strings.Join(out, "; or ")}
	}
	return nil
}
