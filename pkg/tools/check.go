package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/text/hint"
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
	}{{"consumes", t.Consumes}, {"uses", t.Uses}, {"produces", t.Produces}, {"requires", t.Requires}, {"secrets", t.Secrets}} {
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

// checkJudged checks that the parameters that rules judge exist: a rule about a misspelt
// one would never match.
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

// capNames lists the capabilities in the order of their bits.
func capNames() []string {
	return []string{"read", "write", "exec", "shell", "net", "think", "publish"}
}

// Names returns the names of the capabilities in c, in their declared order.
// Unknown bits are shown as numbers, so that they are seen rather than lost.
func (c Caps) Names() []string {
	names := []string{}
	for i, name := range capNames() {
		if c&(1<<i) != 0 {
			names = append(names, name)
			c &^= 1 << i
		}
	}
	if c != 0 {
		names = append(names, fmt.Sprintf("unknown(%#x)", uint16(c)))
	}
	return names
}

// String returns the names of c separated by commas, "none" for no
// capability. [Caps.UnmarshalText] reads it back.
func (c Caps) String() string {
	if c == 0 {
		return "none"
	}
	return strings.Join(c.Names(), ",")
}

// Has reports whether c includes all of need.
func (c Caps) Has(need Caps) bool { return c&need == need }

// UnmarshalText reads names separated by commas: "read,write". No text and
// "none" mean no capability, "all" every one.
func (c *Caps) UnmarshalText(text []byte) (err error) {
	switch s := strings.TrimSpace(string(text)); s {
	case "", "none":
		*c = 0
	case "all":
		*c = 1<<len(capNames()) - 1
	default:
		*c, err = capsOf(strings.Split(s, ","))
	}
	return err
}

func capsOf(names []string) (Caps, error) {
	var c Caps
	var unknown []string
next:
	for _, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		for i, known := range capNames() {
			if name == known {
				c |= 1 << i
				continue next
			}
		}
		unknown = append(unknown, fmt.Sprintf("%q%s", name, spelling.DidYouMean(name, capNames())))
	}
	if unknown != nil {
		return 0, fmt.Errorf("unknown capability %s; there are %s",
			strings.Join(unknown, ", "), strings.Join(capNames(), ", "))
	}
	return c, nil
}

// MarshalJSON writes c as a list of names.
func (c Caps) MarshalJSON() ([]byte, error) { return json.Marshal(c.Names()) }

// UnmarshalJSON reads a list of names.
func (c *Caps) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return fmt.Errorf("capabilities are a list of names such as [\"read\",\"exec\"]: %w", err)
	}
	got, err := capsOf(names)
	if err != nil {
		return err
	}
	*c = got
	return nil
}

func (t Tool) checkProves(bad func(string, ...any)) {
	if len(t.ProvesWith) > 0 && t.Proves == "" {
		bad("has ProvesWith without Proves: say what a successful call proves")
	}
	if t.Input == nil {
		return
	}
	for _, arg := range t.ProvesWith {
		if !slices.ContainsFunc(t.Input.Params(), func(p schema.Param) bool { return p.Name == arg }) {
			bad("proves something with %q, which is none of its arguments", arg)
		}
	}
}

// CheckFault returns why calls with args cannot be a check, "" if they can, and
// what to write instead. A nil args is no arguments.
func (t Tool) CheckFault(args json.RawMessage) (fault, help string) {
	given := map[string]json.RawMessage{}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if err := json.Unmarshal(args, &given); err != nil {
		return "with is not an object of arguments", fmt.Sprintf("write it like check: {tool: %s, with: {…}}", t.Name)
	}
	with := fmt.Sprintf("see %s for its arguments", hint.Name("tools show %s", t.Name))
	if len(t.ProvesWith) > 0 {
		with = fmt.Sprintf("write it like check: {tool: %s, with: {%s: …}}", t.Name, t.ProvesWith[0])
	}
	if faults := t.Input.Validate(args); len(faults) > 0 {
		return fmt.Sprintf("%s cannot be a check: %s", t.Name, faults[0]), with
	}
	needs := len(t.ProvesWith) > 0 && !slices.ContainsFunc(t.ProvesWith, func(arg string) bool {
		v := strings.TrimSpace(string(given[arg]))
		return v != "" && v != "null" && v != `""` && v != "[]"
	})
	if needs {
		return fmt.Sprintf("%s proves nothing without %s", t.Name, strings.Join(t.ProvesWith, " or ")), with
	}
	return "", ""
}

// Lacks returns the tool with missing as its Missing.
func (t Tool) Lacks(missing func(env *Env, args json.RawMessage) string) Tool {
	t.Missing = missing
	return t
}
