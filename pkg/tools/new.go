package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// New makes a Tool of a typed function. In is decoded from arguments that
// satisfy its inferred schema (see [SchemaOf]). Out becomes the text the model
// reads: a string as it is, a [Result] untouched, anything else as JSON; the
// same value is bound to every artifact in m.Produces unless a Result says
// otherwise.
//
// An error from f is told to the model as a failed Result, unless it is marked
// with [Fatal] or the context is done. New never panics, and it costs next to
// nothing, as fits a package variable: the schema is inferred at its first use,
// and what is wrong with In is reported when the tool is put into a Set.
func New[In, Out any](m Metadata, f func(ctx context.Context, env *Env, in In) (Out, error)) Tool {
	t := Tool{Metadata: m, Input: lazySchema(SchemaOf[In])}
	if f == nil {
		return t
	}
	t.Call = func(ctx context.Context, env *Env, args json.RawMessage) (Result, error) {
		var in In
		if err := decode(args, &in); err != nil {
			return Result{Text: "The arguments could not be read: " + err.Error(), Failed: true}, nil
		}
		out, err := f(ctx, env, in)
		if err != nil {
			return failure(ctx, err)
		}
		return m.result(out)
	}
	return t
}

// Func makes a Tool of a raw function and a JSON Schema, for tools whose
// arguments are known only at run time. Unlike with [New], an error from f is
// the operator's problem; what the model should read is a Result with Failed
// set.
func Func(m Metadata, input json.RawMessage, f func(ctx context.Context, env *Env, args json.RawMessage) (Result, error)) Tool {
	input = bytes.Clone(input) // it is read later
	return Tool{Metadata: m, Call: f, Input: lazySchema(func() (*Schema, error) {
		schema, err := CompileSchema(input)
		if err != nil {
			return nil, err
		}
		return schema.forInput()
	})}
}

// A FatalError is an error that the model can do nothing about.
type FatalError struct{ Err error }

func (e *FatalError) Error() string { return e.Err.Error() }
func (e *FatalError) Unwrap() error { return e.Err }

// Fatal marks err as the operator's problem: it ends the call with an error
// instead of a result, and the engine decides whether to try again. Fatal of
// nil is nil.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return &FatalError{err}
}

// failure sorts an error of a typed function: to the model, the operator, or
// whoever cancelled.
func failure(ctx context.Context, err error) (Result, error) {
	if ctx.Err() != nil {
		// A killed process says "signal: killed"; the reason is the context.
		return Result{}, errors.Join(ctx.Err(), err)
	}
	if fatal := new(FatalError); errors.As(err, &fatal) {
		return Result{}, err
	}
	return Result{Text: err.Error(), Failed: true}, nil
}

func (m Metadata) result(out any) (Result, error) {
	switch out := out.(type) {
	case Result:
		return out, nil
	case *Result:
		if out == nil {
			return Result{}, nil
		}
		return *out, nil
	case string:
		return Result{Text: out}, nil
	}
	value, err := encode(out)
	if err != nil {
		return Result{}, Fatal(fmt.Errorf("tool %s: its result cannot be written as JSON: %w", m.Name, err))
	}
	r := Result{Text: string(value)}
	for _, name := range m.Produces {
		if Family(name) {
			continue // which of them, only the tool knows
		}
		if r.Artifacts == nil {
			r.Artifacts = map[string]json.RawMessage{}
		}
		r.Artifacts[name] = value
	}
	return r, nil
}

// encode writes v without turning < and > into escapes, which models repeat.
func encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// decode reads validated arguments into a typed value. JSON Schema takes 3.0
// for an integer, encoding/json does not: such numbers are rewritten, but only
// if reading them as they are fails.
func decode(args json.RawMessage, into any) error {
	err := unmarshal(args, into)
	if typed := new(json.UnmarshalTypeError); errors.As(err, &typed) {
		if whole := wholeNumbers(args); whole != nil {
			err = unmarshal(whole, into)
		}
	}
	if typed := new(json.UnmarshalTypeError); errors.As(err, &typed) {
		where := typed.Field
		if where == "" {
			where = "the value"
		}
		return fmt.Errorf("%s: %s does not fit into %s", where, typed.Value, typed.Type)
	}
	return err
}

func unmarshal(b []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return dec.Decode(into)
}
