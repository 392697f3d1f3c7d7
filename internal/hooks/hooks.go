// Package hooks runs the operator's own programs before and after the calls of tools: to refuse a
// call, to change it, to work on its result, or to keep a record; and when a run of a job has
// ended, to notify a person.
//
//	r := hooks.New(dir, []hooks.Hook{{
//		When: hooks.Before, Tools: []string{"write_file", "edit_*"},
//		Command: []string{"/home/me/bin/protect"},
//	}})
//	defer r.Close()
//	host := handler.Host{Middleware: []func(handler.ToolHandler) handler.ToolHandler{r.Middleware}}
//
// A hook gets a [Call] as JSON on its standard input. Exit code 0 lets the call go on, and a JSON
// object on standard output amends it: {"args": …} before, {"text": …} after. Exit code 2 refuses:
// its standard error is shown to the model. Any other exit code is a fault of the hook, noted in
// the job's events.
//
// A hook is neither a sandbox nor a permission: it runs with the operator's rights, and again when
// a step is repeated after a crash. It never comes from a repository.
package hooks

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/jobs"
)

// When a hook runs.
type When string

const (
	Before When = "before" // the call; it may refuse it or change its arguments
	After  When = "after"  // the call; it may object to its result or change its text
	Ended  When = "ended"  // a run of a job: it is done, waits for a person, failed, …; it can change nothing
)

// OnError states the effect of a hook's own fault on the call.
type OnError string

const (
	Continue OnError = "continue" // the call goes on as if there were no hook; the default
	Block    OnError = "block"    // the call is refused, or its result is taken as failed
)

// statuses are the statuses with which a run of a job can end.
var statuses = func() (names []string) {
	for _, s := range append(jobs.Ended(), jobs.Waiting, jobs.Blocked, jobs.Interrupted) {
		names = append(names, string(s))
	}
	return names
}()

// A Hook is a program that runs around the calls of some tools, or at the end of
// runs.
type Hook struct {
	When    When          `yaml:"when" json:"when"`
	Tools   []string      `yaml:"tools" json:"tools,omitempty"`   // names, with wildcards as in git_*; none: all
	Status  []string      `yaml:"status" json:"status,omitempty"` // of Ended: those of the job; none: all
	Command []string      `yaml:"command" json:"command"`         // the program and its arguments; no shell sees them
	Timeout time.Duration `yaml:"timeout" json:"timeout,omitempty"`
	OnError OnError       `yaml:"on_error" json:"on_error,omitempty"`
}

const (
	// defaultTimeout bounds a hook that names no timeout, noticeTimeout one at the
	// end of a run, for which the process waits before it ends; maxTimeout any hook.
	defaultTimeout = 30 * time.Second
	noticeTimeout  = 5 * time.Second
	maxTimeout     = 10 * time.Minute
)

// Check reports all that is wrong with hooks.
func Check(list []Hook) error {
	var errs []error
	for i, h := range list {
		if err := h.Check(); err != nil {
			errs = append(errs, fmt.Errorf("hooks.%d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

// Check reports errors in a hook's definition.
func (h Hook) Check() error {
	var all []string
	bad := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	h.checkWhen(bad)
	for _, name := range h.Tools {
		if _, err := path.Match(name, ""); err != nil {
			bad("the tool pattern %q is malformed; wildcards are *, ? and [a-z]", name)
		}
	}
	switch {
	case len(h.Command) == 0 || h.Command[0] == "":
		bad("command is empty; name a program and its arguments, as in [/home/me/bin/check, --strict]")
	case strings.ContainsRune(h.Command[0], filepath.Separator) && !filepath.IsAbs(h.Command[0]):
		// It would be looked for in the workspace, and a repository has no hooks.
		bad("the program %s is neither absolute nor a name on PATH", h.Command[0])
	}
	if slices.ContainsFunc(h.Command, func(s string) bool { return strings.ContainsRune(s, 0) }) {
		bad("command contains a NUL byte")
	}
	if h.Timeout < 0 || h.Timeout > maxTimeout {
		bad("timeout is %s; it is at most %s", h.Timeout, maxTimeout)
	}
	if h.OnError != "" && h.OnError != Continue && h.OnError != Block {
		bad("on_error is %q; it is continue or block", h.OnError)
	}
	if all == nil {
		return nil
	}
	return errors.New(strings.Join(all, "; "))
}

// checkWhen checks when a hook runs, and that it has nothing that is only for
// others.
func (h Hook) checkWhen(bad func(format string, args ...any)) {
	switch h.When {
	case Before, After:
		if len(h.Status) > 0 {
			bad("status is only for when: ended")
		}
	case Ended:
		if len(h.Tools) > 0 || h.OnError != "" {
			bad("tools and on_error are not for when: ended; it is about a job, and changes nothing")
		}
	default:
		bad("when is %q; it is before, after or ended", h.When)
	}
	for _, s := range h.Status {
		if !slices.Contains(statuses, s) {
			bad("the status %q is none that a run ends with; there are %s", s, strings.Join(statuses, ", "))
		}
	}
}

// String describes the hook for people.
func (h Hook) String() string {
	on := "all tools"
	if h.When == Ended {
		on = cmp.Or(strings.Join(h.Status, ", "), "any status")
	}
	if len(h.Tools) > 0 {
		on = strings.Join(h.Tools, ", ")
	}
	return fmt.Sprintf("%s %s: %s", h.When, on, strings.Join(h.Command, " "))
}

// is reports whether h runs at when for a tool.
func (h Hook) is(when When, tool string) bool {
	if h.When != when {
		return false
	}
	return len(h.Tools) == 0 || slices.ContainsFunc(h.Tools, func(p string) bool { ok, _ := path.Match(p, tool); return ok })
}
