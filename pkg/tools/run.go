package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/event"
)

// defaultTimeout bounds a call of a tool that declares no Timeout.
const defaultTimeout = 2 * time.Minute

// Run performs one call: it repairs and validates args, cuts env down to what
// the tool needs, bounds the time, and sees to it that whatever the tool does
// comes back as a Result that can be shown and kept. Executors
// call it.
//
// Faulty arguments, a missing capability, a timeout and a crash of the tool
// are failed Results. An error means that the call has no outcome: ctx is done
// (then it is ctx's error), or the tool says [Fatal]. Run waits for the tool,
// so a tool that ignores its context delays it.
func (t Tool) Run(ctx context.Context, env *Env, args json.RawMessage) (r Result, err error) {
	if err := t.inputErr(); err != nil {
		return Result{}, Fatal(fmt.Errorf("tool %s cannot be called: %w", t.Name, err))
	}
	if t.Call == nil || t.Input == nil {
		return Result{}, Fatal(fmt.Errorf("tool %s cannot be called: it has no function or no input schema; make it with tools.New", t.Name))
	}
	env = env.Only(t.Needs)
	faults := t.Input.Validate(args)
	if faults != nil {
		var notes []string
		args, notes = t.Input.Repair(args)
		for _, note := range notes {
			env.note(t.Name, note, "")
		}
		faults = t.Input.Validate(args)
	}
	if faults != nil {
		return Result{Text: t.refusal(faults), Failed: true, Refused: true, Summary: "arguments refused: " + faults[0].String()}, nil
	}
	if lacking := env.lacks(t.Needs); lacking != 0 {
		return Result{Failed: true, Refused: true, Text: fmt.Sprintf("%s needs %s, which this run does not grant. Go on without it.", t.Name, lacking)}, nil
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	inner, cancel := context.WithTimeout(ctx, t.limit())
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			env.note(t.Name, "the tool crashed; this is a defect of the tool", fmt.Sprintf("%v\n%s", p, debug.Stack()))
			r, err = t.outcome(ctx, inner, env, Result{Failed: true, Text: fmt.Sprintf("the tool crashed: %v", p)}, nil)
		}
	}()
	r, err = t.Call(inner, env, args)
	return t.outcome(ctx, inner, env, r, err)
}

// outcome decides the result of a call of ctx. inner is its context with the tool's time
// limit, and r and err the tool's own result.
func (t Tool) outcome(ctx, inner context.Context, env *Env, r Result, err error) (Result, error) {
	switch {
	case ctx.Err() != nil && (err != nil || r.Failed):
		// What a cancelled tool says of its failure is about the cancellation.
		return Result{}, errors.Join(ctx.Err(), err)
	case err != nil && inner.Err() != nil:
		return Result{Failed: true, Text: fmt.Sprintf("%s did not finish within %s and was stopped; what it had begun may be half done. Ask for less at once.", t.Name, t.limit())}, nil
	case err != nil:
		return Result{}, fmt.Errorf("tool %s: %w", t.Name, err)
	}
	return t.finish(env, r), nil
}

// limit returns the time limit of a call.
func (t Tool) limit() time.Duration {
	if t.Timeout == 0 {
		return defaultTimeout
	}
	return t.Timeout
}

// finish binds artifacts and makes the texts fit to be kept.
func (t Tool) finish(env *Env, r Result) Result {
	r.Text, r.Summary = validUTF8(r.Text), validUTF8(r.Summary)
	if r.Artifacts == nil {
		if r.Failed || len(t.Produces) == 0 {
			return r
		}
		text := jsontext.Quote(r.Text)
		r.Artifacts = map[string]json.RawMessage{}
		for _, name := range t.Produces {
			if !IsFamily(name) {
				r.Artifacts[name] = text
			}
		}
		return r
	}
	kept := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(r.Artifacts)) {
		switch value := r.Artifacts[name]; {
		case !slices.ContainsFunc(t.Produces, func(p string) bool { return Matches(p, name) }):
			env.note(t.Name, fmt.Sprintf("artifact %q was dropped: the tool does not declare that it produces it", name), "")
		case !json.Valid(value):
			env.note(t.Name, fmt.Sprintf("artifact %q was dropped: it is not JSON", name), "")
		default:
			kept[name] = value
		}
	}
	r.Artifacts = kept
	return r
}

// refusal lists for the model all faults of its arguments, and what the tool
// takes.
func (t Tool) refusal(faults []schema.Fault) string {
	const most = 12
	var b strings.Builder
	fmt.Fprintf(&b, "%s was not called, its arguments do not fit:\n", t.Name)
	for i, f := range faults {
		if i == most {
			fmt.Fprintf(&b, "- and %d more\n", len(faults)-most)
			break
		}
		fmt.Fprintf(&b, "- %s\n", f)
	}
	fmt.Fprintf(&b, "It takes: %s", t.Input.Signature())
	return b.String()
}

// note emits an event. The journal holds the result, not this.
func (e *Env) note(name, words, cause string) {
	e.Emit(event.Event{Job: e.Job, Time: time.Now(), Kind: event.Note, Step: "tool", Name: name, Text: words, Error: cause})
}

// validUTF8 replaces bytes that are not UTF-8: providers and journals refuse them.
func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
