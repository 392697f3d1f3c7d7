package tools

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
)

const maxTimeout = 24 * time.Hour

// check returns all that is wrong with tools and with their being together. Those
// that ship have been checked: a job uses few of them, and to infer the schemas of all
// takes longer than what else it does at its start.
func check(tools []Tool) error {
	var errs []error
	first := map[string]string{} // folded name -> the name that has it
	for _, t := range tools {
		if !t.ships {
			errs = append(errs, t.Check())
		}
		other, taken := first[spelling.Fold(t.Name)]
		switch {
		case !taken:
			first[spelling.Fold(t.Name)] = t.Name
		case other == t.Name:
			errs = append(errs, fmt.Errorf("tool %q is registered twice; rename one or leave it out", t.Name))
		default:
			errs = append(errs, fmt.Errorf("tools %q and %q differ only in case or underscores; a model cannot tell them apart, rename one", other, t.Name))
		}
	}
	return errors.Join(errs...)
}

var toolName = lazyregexp.New(`^[a-z][a-z0-9_]{0,63}$`)

// Check returns all that is wrong with t by itself, one sentence a line. A
// [Set] and a [Registry] take only tools without fault.
func (t Tool) Check() error {
	var errs []error
	bad := func(format string, a ...any) {
		errs = append(errs, fmt.Errorf("tool %q "+format, append([]any{t.Name}, a...)...))
	}
	if !toolName.MatchString(t.Name) {
		bad("has a bad name: use small letters, digits and underscores, a letter first, at most 64 bytes")
	}
	if strings.TrimSpace(t.Description) == "" {
		bad("has no description: say in a sentence what it does and returns")
	}
	if !utf8.ValidString(t.Description + t.UsageHint + t.When) {
		bad("has prose that is not valid UTF-8")
	}
	if t.Call == nil {
		bad("has nothing to call: give it a function")
	}
	switch err := t.inputErr(); {
	case err != nil:
		bad("has no usable input: %w", err)
	case t.Input == nil:
		bad("has no input schema: make it with tools.New or tools.Func")
	default:
		for i, e := range t.Examples {
			if faults := t.Input.Validate(e.Args); faults != nil {
				bad("has an example (number %d) that it would refuse: it %s", i+1, schema.FaultText(faults))
			}
		}
	}
	t.checkEffect(bad)
	t.checkPresentation(bad)
	t.checkJudged(bad)
	t.checkProves(bad)
	if t.Timeout < 0 || t.Timeout > maxTimeout || t.Timeout > 0 && t.Timeout < time.Millisecond {
		bad("has a timeout of %s: use a millisecond to %s, or zero for %s", t.Timeout, maxTimeout, defaultTimeout)
	}
	for _, list := range []struct {
		what  string
		names []string
	}{{"consumes", t.Consumes}, {"uses", t.Uses}, {"produces", t.Produces}, {"requires", t.Requires}} {
		for i, name := range list.names {
			if strings.TrimSpace(name) != name || name == "" {
				bad("%s %q: a name must not be empty or begin or end with white space", list.what, name)
			} else if slices.Contains(list.names[:i], name) {
				bad("%s %q twice", list.what, name)
			}
		}
	}
	return errors.Join(errs...)
}

func (t Tool) checkEffect(bad func(string, ...any)) {
	if unknown := t.Needs &^ (1<<len(capNames()) - 1); unknown != 0 {
		bad("needs %s: there are %s", unknown, strings.Join(capNames(), ", "))
	}
	switch t.Effect {
	case "", Idempotent, Unsafe:
	case Pure:
		// A pure call is repeated at will after a crash, so it must not be
		// able to change anything. Asking the network is taken at its word.
		if more := t.Needs &^ (Read | Think | Net); more != 0 {
			bad("is declared pure but needs %s: declare it idempotent if repeating a call does no harm, or leave the effect out", more)
		}
	default:
		bad("has the effect %q: use pure, idempotent or unsafe, or leave it out", t.Effect)
	}
}

func (t Tool) checkPresentation(bad func(string, ...any)) {
	switch t.Optionality {
	case "", Required, Optional:
		if t.When != "" {
			bad("says when to use it but is not conditional: set its optionality to conditional or say it in the hint")
		}
	case Conditional:
		if strings.TrimSpace(t.When) == "" {
			bad("is conditional but does not say when: fill in When")
		}
	default:
		bad("has the optionality %q: use required, optional or conditional", t.Optionality)
	}
}

// checkJudged sees to it that what rules judge are arguments there are: a rule
// about a misspelt one would never hold.
func (t Tool) checkJudged(bad func(string, ...any)) {
	if t.Input == nil {
		return
	}
	known := map[string]bool{}
	for _, p := range t.Input.Params() {
		known[p.Name] = true
	}
	for _, name := range append([]string{t.Command}, t.Paths...) {
		if name != "" && !known[name] {
			bad("says that its argument %q is to be judged: it takes no such argument", name)
		}
	}
}
