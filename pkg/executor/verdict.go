package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/turn"
)

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

// onlyInconclusive reports whether only checks that cannot be judged keep the criterion
// from being met: no work of the model changes that.
func (v verdict) onlyInconclusive() bool {
	return len(v.Unmet) > 0 && !slices.ContainsFunc(v.Unmet, func(u string) bool { return !slices.Contains(v.Unchecked, u) })
}

// An inconclusiveError is the error of a check that has neither passed nor
// failed. Missing reports that there was nothing to check when the job began and
// there is nothing now, for which a criterion may have an IfMissing.
type inconclusiveError struct {
	Missing bool
	Reason  string
}

func (e *inconclusiveError) Error() string { return e.Reason }

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
	if err := c.fault(); err != nil {
		return unjudged(err.Error())
	}
	if c.When != nil && !c.When.applies(s) {
		return verdict{}
	}
	switch {
	case c.Signal != "":
		if s.planOnly && s.signalOptional {
			return verdict{} // a plan has nothing else to show
		}
		if s.Claim == nil || s.Claim.Word != c.Signal && s.Claim.Word != finish {
			if s.finishOffered {
				return unmet("call finish when you are done")
			}
			if s.noFinish {
				return unmet("say %s on a line of its own when you are done", c.Signal)
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
	case !c.Zero():
		return unjudged(strings.Join(c.Kinds(), " and ") + ": this version of adroit cannot judge such a condition")
	}
	return verdict{}
}

// unjudged is the verdict on a criterion that cannot be judged: it is never met, and no
// work of the model changes that.
func unjudged(why string) verdict { return verdict{Unmet: []string{why}, Unchecked: []string{why}} }

// applies reports whether c, a condition, holds of s: if that cannot be said, it does.
func (c Criterion) applies(s *State) bool {
	if c.Artifact == "" && c.Tool == "" || c.Signal != "" || c.IsCheck() || c.All != nil || c.Any != nil {
		return true
	}
	if c.Artifact == changedFiles && (changed(s.Value(changedFiles)) || c.uncertain(s) != "") {
		return true
	}
	v := c.judge(s, func(Criterion) error { return nil })
	return len(v.Unmet) == 0 && (c.Artifact != changedFiles || changed(s.Value(changedFiles)))
}

func (c Criterion) artifact(s *State) verdict {
	v := s.Value(c.Artifact)
	nothing := c.Artifact == "diff" && s.plain && !changed(v) && c.uncertain(s) == ""
	if v == nil && nothing {
		return unmet("no file has been changed")
	}
	if by := s.toolsByArtifact[c.Artifact]; v == nil && by != "" && c.Artifact != changedFiles {
		return unmet("%s has not produced %q%s", by, c.Artifact, c.uncertain(s))
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
	if c.Artifact != "diff" || json.Unmarshal(s.Value(turn.UncertainChanges), &paths) != nil || len(paths) == 0 {
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
	wordless := s.signalOptional && slices.ContainsFunc(c.All, Criterion.evidence)
	for _, part := range c.All {
		if !part.checks() && (!wordless || part.Signal == "") {
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

// evidence reports whether c holds by what was made or proved, whatever the model says. That a
// tool was called shows nothing: the word beside it may be a verdict.
func (c Criterion) evidence() bool {
	return len(c.Signals()) == 0 && (len(c.Artifacts()) > 0 || c.checks())
}

func (c Criterion) any(s *State, check func(Criterion) error) verdict {
	var lacks []string
	inconclusive := len(c.Any) > 0
	for _, part := range c.Any {
		v := part.judge(s, check)
		if len(v.Unmet) == 0 {
			return v
		}
		inconclusive = inconclusive && v.onlyInconclusive()
		lacks = append(lacks, strings.Join(v.Unmet, " and "))
	}
	v := unmet("one of these must hold: %s", strings.Join(lacks, "; or "))
	if inconclusive {
		v.Unchecked = v.Unmet
	}
	return v
}

// judgeCheck judges a check by the error of running it.
func (c Criterion) judgeCheck(s *State, check func(Criterion) error) verdict {
	err := check(c)
	none := new(inconclusiveError)
	switch {
	case err == nil:
		return met("%s passed", c.Label())
	case !errors.As(err, &none):
		return unmet("%v", err)
	case none.Missing && c.IfMissing != nil:
		v := c.IfMissing.judge(s, check)
		v.Unchecked = append([]string{none.Reason}, v.Unchecked...)
		if len(v.Unmet) == 0 {
			v.Met = []string{none.Reason}
		}
		return v
	}
	return verdict{Unmet: []string{none.Reason}, Unchecked: []string{none.Reason}}
}

// lacksAction reports whether an artifact or a call is missing for c, so that no answer
// in words can meet it. Whether a check would pass is not asked.
func (c Criterion) lacksAction(s *State) bool {
	lacks := func(p Criterion) bool { return p.lacksAction(s) }
	switch {
	case c.Artifact != "":
		return s.Value(c.Artifact) == nil
	case c.Tool != "":
		return s.called(c.Tool) == 0
	case c.All != nil:
		return slices.ContainsFunc(c.All, lacks)
	case c.Any != nil:
		return !slices.ContainsFunc(c.Any, func(p Criterion) bool { return !p.lacksAction(s) })
	}
	return false
}
