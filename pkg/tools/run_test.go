package tools

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
)

type in struct {
	N int `json:"n,omitempty" jsonschema:"description=A number."`
}

func meta(name string) Metadata {
	return Metadata{Name: name, Description: "Does " + name + ".", Category: "utility", Produces: []string{"out"}}
}

func TestRunResults(t *testing.T) {
	broken := errors.New("no such number")
	for name, c := range map[string]struct {
		tool Tool
		want Result
		err  error
	}{
		"text":   {New(meta("a"), func(context.Context, *Env, in) (string, error) { return "x<y", nil }), Result{Text: "x<y", Artifacts: arts(`"x<y"`)}, nil},
		"number": {New(meta("a"), func(_ context.Context, _ *Env, i in) (int, error) { return i.N, nil }), Result{Text: "3", Artifacts: arts(`3`)}, nil},
		"value":  {New(meta("a"), func(context.Context, *Env, in) (in, error) { return in{4}, nil }), Result{Text: `{"n":4}`, Artifacts: arts(`{"n":4}`)}, nil},
		"result": {New(meta("a"), func(context.Context, *Env, in) (Result, error) {
			return Result{Text: "t", Failed: true, Artifacts: arts(`[1]`)}, nil
		}), Result{Text: "t", Failed: true, Artifacts: arts(`[1]`)}, nil},
		"undeclared": {New(meta("a"), func(context.Context, *Env, in) (Result, error) {
			return Result{Text: "t", Artifacts: map[string]json.RawMessage{"diff": []byte(`1`), "out": []byte(`{`)}}, nil
		}), Result{Text: "t", Artifacts: map[string]json.RawMessage{}}, nil},
		"failure": {New(meta("a"), func(context.Context, *Env, in) (int, error) { return 0, broken }), Result{Text: "no such number", Failed: true}, nil},
		"fatal":   {New(meta("a"), func(context.Context, *Env, in) (int, error) { return 0, Fatal(broken) }), Result{}, broken},
		"panic":   {New(meta("a"), func(context.Context, *Env, in) (int, error) { panic("boom \xff") }), Result{Text: "the tool crashed: boom \uFFFD", Failed: true}, nil},
		"bytes":   {New(meta("a"), func(context.Context, *Env, in) (string, error) { return "a\xffb", nil }), Result{Text: "a\uFFFDb", Artifacts: arts(`"a` + "\uFFFD" + `b"`)}, nil},
	} {
		got, err := c.tool.Run(t.Context(), nil, json.RawMessage(`{"n":3.0}`))
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: error %v, want %v", name, err, c.err)
		}
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(c.want)
		if string(g) != string(w) {
			t.Errorf("%s: %s, want %s", name, g, w)
		}
	}
}

func arts(v string) map[string]json.RawMessage { return map[string]json.RawMessage{"out": []byte(v)} }

func TestRunRefusesArguments(t *testing.T) {
	called := false
	tool := New(meta("double"), func(_ context.Context, _ *Env, i in) (int, error) { called = true; return 2 * i.N, nil })
	r, err := tool.Run(t.Context(), nil, json.RawMessage(`{"m":"x"}`))
	if err != nil || called || !r.Failed {
		t.Fatalf("%+v, %v, called %v", r, err, called)
	}
	const want = "double was not called, its arguments do not fit:\n- m is not known (did you mean \"n\"?)\nIt takes: an object with n (integer, optional)"
	if r.Text != want {
		t.Errorf("got %s\nwant %s", r.Text, want)
	}
	if r, err := tool.Run(t.Context(), nil, nil); err != nil || r.Text != "0" {
		t.Errorf("no arguments: %+v, %v", r, err)
	}
}

func TestRunGrantsOnlyNeeds(t *testing.T) {
	var got *Env
	m := meta("fetch")
	m.Needs = Net
	tool := New(m, func(_ context.Context, env *Env, _ in) (string, error) { got = env; return "", nil })
	env := &Env{HTTP: http.DefaultClient, Exec: nil, Key: "3.1"}
	env.Model = nil
	if _, err := tool.Run(t.Context(), env, nil); err != nil {
		t.Fatal(err)
	}
	switch {
	case got.HTTP == nil:
		t.Errorf("got.HTTP is nil: env is %+v", got)
	case got.Files != nil:
		t.Errorf("got.Files is %v: env is %+v", got.Files, got)
	case got.Key != "3.1":
		t.Errorf(`got.Key is %v, want "3.1": env is %+v`, got.Key, got)
	case got.Artifacts == nil:
		t.Errorf("got.Artifacts is nil: env is %+v", got)
	case got.Emit == nil:
		t.Errorf("got.Emit is nil: env is %+v", got)
	}
	none := env.Only(Read)
	if none.HTTP != nil || env.HTTP == nil {
		t.Error("Only does not cut, or changes the original")
	}
	r, err := tool.Run(t.Context(), &Env{}, nil)
	if err != nil || !r.Failed || !strings.Contains(r.Text, "fetch needs net, which this run does not grant") {
		t.Errorf("without net: %+v, %v", r, err)
	}
}

func TestRunTimeAndCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(ctx context.Context, _ *Env, _ in) (string, error) { <-ctx.Done(); return "", errors.New("killed") }
		slow := New(meta("slow"), wait)
		begin := time.Now()
		r, err := slow.Run(t.Context(), nil, nil)
		switch {
		case err != nil:
			t.Errorf("unexpected error: timeout: %+v, %v after %s", r, err, time.Since(begin))
		case !r.Failed:
			t.Errorf("r.Failed is false: timeout: %+v, %v after %s", r, err, time.Since(begin))
		case !strings.Contains(r.Text, "did not finish within 2m0s"):
			t.Errorf(`r.Text lacks "did not finish within 2m0s": timeout: %+v, %v after %s`, r, err, time.Since(begin))
		case time.Since(begin) != defaultTimeout:
			t.Errorf("time.Since(begin) is not DefaultTimeout: timeout: %+v, %v after %s", r, err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := slow.Run(ctx, nil, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled: %v", err)
		}
		if _, err := slow.Run(ctx, nil, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled before: %v", err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		done := New(meta("done"), func(context.Context, *Env, in) (string, error) { cancel(); return "did it", nil })
		if r, err := done.Run(ctx, nil, nil); err != nil || r.Text != "did it" {
			t.Errorf("an effect that happened is lost: %+v, %v", r, err)
		}
	})
}

func TestRunNotifiesOperator(t *testing.T) {
	var notes []event.Event
	env := &Env{Job: "J1", Emit: func(e event.Event) { notes = append(notes, e) }}
	tool := New(meta("bad"), func(context.Context, *Env, in) (string, error) { panic("boom") })
	if _, err := tool.Run(t.Context(), env, json.RawMessage(`"{}"`)); err != nil {
		t.Fatal(err)
	}
	switch {
	case len(notes) != 2:
		t.Errorf("len(notes) is %v, want 2: notes: %+v", len(notes), notes)
	case notes[0].Error != "":
		t.Errorf(`notes[0].Error is %v, want "": notes: %+v`, notes[0].Error, notes)
	case !strings.Contains(notes[1].Error, "run_test.go"):
		t.Errorf(`notes[1].Error lacks "run_test.go": notes: %+v`, notes)
	case notes[1].Name != "bad":
		t.Errorf(`notes[1].Name is %v, want "bad": notes: %+v`, notes[1].Name, notes)
	case notes[1].Job != "J1":
		t.Errorf(`notes[1].Job is %v, want "J1": notes: %+v`, notes[1].Job, notes)
	}
}

func TestFunc(t *testing.T) {
	echo := func(_ context.Context, _ *Env, args json.RawMessage) (Result, error) {
		return Result{Text: string(args)}, nil
	}
	tool := Func(Metadata{Name: "echo", Description: "Echo."}, json.RawMessage(`{"additionalProperties":{"type":"string"}}`), echo)
	if err := tool.Check(); err != nil {
		t.Fatal(err)
	}
	if got := tool.Input.String(); got != `{"type":"object","properties":{},"additionalProperties":{"type":"string"}}` {
		t.Errorf("schema %s", got)
	}
	if r, err := tool.Run(t.Context(), nil, json.RawMessage(`{"a":"b"}`)); err != nil || r.Text != `{"a":"b"}` {
		t.Errorf("%+v, %v", r, err)
	}
	if r, _ := tool.Run(t.Context(), nil, json.RawMessage(`[1]`)); !r.Failed {
		t.Error("an array is taken for an object")
	}
	bad := Func(Metadata{Name: "bad", Description: "Bad."}, json.RawMessage(`{"type":"array"}`), echo)
	if bad.Check() == nil {
		t.Error("arguments may be an array")
	}
	if _, err := bad.Run(t.Context(), nil, nil); err == nil {
		t.Error("a tool without usable schema runs")
	}
}
