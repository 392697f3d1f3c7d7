// Package toolstest is the conformance kit for tool packages. One call holds a
// package's tools to everything adroit relies on:
//
//	func TestTools(t *testing.T) {
//		toolstest.Check(t, wordcount.Tool)
//	}
//
// It registers the tools, reads their prose and schemas, refuses them broken
// arguments and feeds them odd ones. Tools run in an empty directory, with
// commands, network and model that refuse, so that nothing outside is touched
// by a tool that keeps to its Env. It does not test what a tool is for: that
// is the package's own business.
package toolstest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/pkg/tools"
)

// prompt bounds the time for which a call may go on after its context has ended.
const prompt = 5 * time.Second

// Check reports everything that is wrong with list through t.
func Check(t testing.TB, list ...tools.Tool) {
	t.Helper()
	if _, err := tools.NewSet(list...); err != nil {
		t.Errorf("the tools cannot be registered:\n%v", err)
	}
	for _, tool := range list {
		if err := tool.Check(); err != nil {
			t.Errorf("the tool cannot be registered:\n%v", err) // a set does not check those that ship
			continue
		}
		prose(t, tool)
		checkSchema(t, tool)
		refuses(t, tool)
		survives(t, tool)
		cancels(t, tool)
		waits(t, tool)
	}
}

func prose(t testing.TB, tool tools.Tool) {
	t.Helper()
	if strings.TrimSpace(tool.UsageHint) == "" {
		t.Errorf("tool %s has no usage hint: say when to use it and when not", tool.Name)
	}
	if tool.Category == "" {
		t.Errorf("tool %s has no category", tool.Name)
	}
	for _, e := range tool.Examples {
		if !utf8.ValidString(e.Note) {
			t.Errorf("tool %s has an example whose note is not UTF-8", tool.Name)
		}
	}
}

// checkSchema checks what providers and people need of a schema.
func checkSchema(t testing.TB, tool tools.Tool) {
	t.Helper()
	raw := tool.Input.JSON()
	for _, word := range []string{`"$ref"`, `"$id"`, `"$schema"`, `"$defs"`} {
		if bytes.Contains(raw, []byte(word+":")) {
			t.Errorf("tool %s: its schema has %s, which some providers drop", tool.Name, word)
		}
	}
	again, err := schema.Compile(raw)
	if err != nil {
		t.Errorf("tool %s: its schema does not compile a second time: %v", tool.Name, err)
	} else if !bytes.Equal(again.JSON(), raw) {
		t.Errorf("tool %s: its schema is not stable:\n%s\n%s", tool.Name, raw, again.JSON())
	}
	words := strings.FieldsFunc(strings.ToLower(tool.Description), func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, p := range shapeOf(tool).names() {
		if shapeOf(tool).property(p).Description == "" && !slices.Contains(words, p) {
			t.Errorf("tool %s: property %s has no description, and that of the tool does not name it", tool.Name, p)
		}
	}
}

// refuses sends arguments that break the schema. Each must come back as a
// failed result that names the fault, without the tool's code being run.
func refuses(t testing.TB, tool tools.Tool) {
	t.Helper()
	probe := tool
	called := false
	probe.Call = func(context.Context, *tools.Env, json.RawMessage) (tools.Result, error) {
		called = true
		return tools.Result{}, nil
	}
	for _, b := range broken(tool) {
		called = false
		r, err := probe.Run(t.Context(), hermetic(t), b.args)
		switch {
		case err != nil:
			t.Errorf("tool %s, %s: error instead of a failed result: %v", tool.Name, b.what, err)
		case called || !r.Failed:
			t.Errorf("tool %s takes %s: %s", tool.Name, b.what, clip(b.args))
		case b.names != "" && !strings.Contains(r.Text, b.names):
			t.Errorf("tool %s, %s: the refusal does not name %q:\n%s", tool.Name, b.what, b.names, r.Text)
		}
	}
}

// survives feeds arguments that satisfy the schema, however odd.
func survives(t testing.TB, tool tools.Tool) {
	t.Helper()
	for _, args := range valid(tool) {
		probe := tool
		probe.Timeout = prompt
		probe.Call = func(ctx context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error) {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("tool %s crashes on %s: %v (does it use a capability that its Needs do not name?)", tool.Name, clip(args), p)
				}
			}()
			return tool.Call(ctx, env, args)
		}
		env := hermetic(t)
		notes := watch(env)
		r, err := probe.Run(t.Context(), env, args)
		if err == nil && r.Failed && strings.TrimSpace(r.Text) == "" {
			t.Errorf("tool %s fails on %s without saying why", tool.Name, clip(args))
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("tool %s on %s: its result cannot be kept: %v", tool.Name, clip(args), err)
		}
		for _, note := range notes() {
			if strings.Contains(note, "was dropped") {
				t.Errorf("tool %s on %s: %s", tool.Name, clip(args), note)
			}
		}
	}
}

// cancels calls the tool with a context that has ended already.
func cancels(t testing.TB, tool tools.Tool) {
	t.Helper()
	args := tool.Input.Sample()
	if len(tool.Examples) > 0 {
		args = tool.Examples[0].Args
	}
	if args == nil {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	env := hermetic(t).Only(tool.Needs)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // survives reports crashes
		_, _ = tool.Call(ctx, env, args)
	}()
	select {
	case <-done:
	case <-time.After(prompt):
		t.Errorf("tool %s goes on for more than %s after its context has ended", tool.Name, prompt)
	}
}

// waits has the host run out of what a command or a connection takes. That is no result: a
// model would read it as a failure of its command, while the step waits for an error.
func waits(t testing.TB, tool tools.Tool) {
	t.Helper()
	for _, e := range append([]tools.Example{{Args: tool.Input.Sample()}}, tool.Examples...) {
		if e.Args == nil || tool.Input.Validate(e.Args) != nil {
			continue
		}
		for _, lack := range []error{
			&os.PathError{Op: "open", Path: os.DevNull, Err: syscall.EMFILE},
			&os.PathError{Op: "fork/exec", Path: "/bin/sh", Err: syscall.EAGAIN},
		} {
			probe := tool
			probe.Call = func(ctx context.Context, env *tools.Env, args json.RawMessage) (r tools.Result, err error) {
				defer func() { _ = recover() }() // survives reports crashes
				return tool.Call(ctx, env, args)
			}
			env, host := hermetic(t), &exhausted{err: lack}
			env.Exec, env.HTTP = host, &http.Client{Transport: host}
			r, err := probe.Run(t.Context(), env, e.Args)
			if host.asked.Load() && err == nil && (r.Failed || r.Inconclusive != "") {
				t.Errorf("tool %s on %s has a result where the host has run out of something (%v): return the error, in which %%w has that one\n%s", tool.Name, clip(e.Args), lack, r.Text)
			}
		}
	}
}

func clip(args json.RawMessage) string {
	if len(args) > 200 {
		return string(args[:200]) + "…"
	}
	return string(args)
}
