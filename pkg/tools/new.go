package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// shipped lists the path prefixes of packages whose tools ship with the module. TestShips
// of pkg/parts fails when they lie elsewhere.
var shipped = []string{"github.com/adroit-run/adroit/internal/builtin/", "github.com/adroit-run/adroit/pkg/parts/internal/"}

// New makes a Tool of a typed function. In is decoded from arguments that
// satisfy the schema inferred from its fields and their json and jsonschema tags. Out becomes the text the model
// reads: a string as it is, a [Result] untouched, anything else as JSON; the
// same value is bound to every artifact in m.Produces unless a Result says
// otherwise.
//
// An error from f becomes a failed Result for the model, unless it is marked
// with [Fatal] or the context is done. New never panics, and it costs next to
// nothing, as fits a package variable: the schema is inferred at its first use,
// and what is wrong with In is reported when the tool is put into a Set.
func New[In, Out any](m Metadata, f func(ctx context.Context, env *Env, in In) (Out, error)) Tool {
	t := Tool{Metadata: m, Input: schema.Lazy(schema.Infer[In]), ships: ships(reflect.TypeFor[In]())}
	if f == nil {
		return t
	}
	t.Call = func(ctx context.Context, env *Env, args json.RawMessage) (Result, error) {
		var in In
		if err := schema.Decode(args, &in); err != nil {
			return Result{Text: "The arguments could not be read: " + err.Error(), Failed: true}, nil
		}
		out, err := f(ctx, env, in)
		if err != nil {
			return failure(ctx, env, err)
		}
		return m.result(out)
	}
	return t
}

// ships reports whether a type is declared by a package whose tools ship.
func ships(t reflect.Type) bool {
	return slices.ContainsFunc(shipped, func(p string) bool { return strings.HasPrefix(t.PkgPath(), p) })
}

// Func makes a Tool of a raw function and a JSON Schema, for tools whose
// arguments are known only at run time. Unlike with [New], an error from f is
// the operator's problem; what the model should read is a Result with Failed
// set.
func Func(m Metadata, input json.RawMessage, f func(ctx context.Context, env *Env, args json.RawMessage) (Result, error)) Tool {
	input = bytes.Clone(input) // it is read later
	return Tool{Metadata: m, Call: f, Input: schema.Lazy(func() (*schema.Schema, error) {
		schema, err := schema.Compile(input)
		if err != nil {
			return nil, err
		}
		return schema.ForArguments()
	})}
}

// A fatalError is an error that the model can do nothing about.
type fatalError struct{ Err error }

func (e *fatalError) Error() string { return e.Err.Error() }
func (e *fatalError) Unwrap() error { return e.Err }

// Fatal marks err as the operator's problem: it ends the call with an error instead of a
// result. The model reads that the call could not be made, and why, and goes on. Fatal of
// a *flow.InfrastructureError stops the job as well, also from within a sub-agent: it is
// interrupted with the error's message and no model is asked; resuming it repeats the
// call as after a crash. Fatal of nil is nil.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return &fatalError{err}
}

// failure passes an error of a typed function to the model, the operator, or as
// a cancellation.
func failure(ctx context.Context, env *Env, err error) (Result, error) {
	if ctx.Err() != nil {
		// A killed process says "signal: killed"; the reason is the context.
		return Result{}, errors.Join(ctx.Err(), err)
	}
	if fatal := new(fatalError); errors.As(err, &fatal) || exhaustion.Of(err) != "" {
		return Result{}, err // nothing that a model could do anything about
	}
	res := Result{Text: err.Error() + env.similarPaths(ctx, err), Failed: true}
	for e := err; e != nil && res.Summary == ""; e = errors.Unwrap(e) {
		if people, ok := e.(interface{ Summary() string }); ok {
			res.Summary = people.Summary()
		}
	}
	if programs := interface{ Value() json.RawMessage }(nil); errors.As(err, &programs) {
		res.Value = programs.Value() // for readers that would have to parse the text otherwise
	}
	return res, nil
}

// similarPaths lists, for a path that does not exist, the files with the same base name,
// or else the nearest name in the same directory.
func (e *Env) similarPaths(ctx context.Context, err error) string {
	missing := new(workspace.PathError)
	if e == nil || e.Files == nil || !errors.As(err, &missing) || !errors.Is(missing.Err, fs.ErrNotExist) {
		return ""
	}
	const most = 5000
	entries, _, err := e.Files.List(ctx, workspace.ListOptions{Max: most})
	if err != nil {
		return ""
	}
	var same, beside []string
	dir, base := path.Split(path.Clean(missing.Name))
	for _, entry := range entries {
		if strings.EqualFold(path.Base(entry.Name), base) {
			same = append(same, entry.Name)
		}
		if d, _ := path.Split(entry.Name); d == dir {
			beside = append(beside, entry.Name)
		}
	}
	if same == nil {
		if near := spelling.Nearest(path.Join(dir, base), beside); near != "" {
			same = []string{near}
		}
	}
	for i := range same {
		same[i] = spelling.PathLine(same[i])
	}
	const named = 4
	switch {
	case len(same) == 0:
		return ""
	case len(same) > named:
		return fmt.Sprintf("; there are %s and %d more", strings.Join(same[:named], ", "), len(same)-named)
	}
	return "; there is " + strings.Join(same, ", ")
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
	value, err := jsontext.Marshal(out)
	if err != nil {
		return Result{}, Fatal(fmt.Errorf("tool %s: its result cannot be written as JSON: %w", m.Name, err))
	}
	r := Result{Text: string(value)}
	for _, name := range m.Produces {
		if IsFamily(name) {
			continue // which of them, only the tool knows
		}
		if r.Artifacts == nil {
			r.Artifacts = map[string]json.RawMessage{}
		}
		r.Artifacts[name] = value
	}
	return r, nil
}
