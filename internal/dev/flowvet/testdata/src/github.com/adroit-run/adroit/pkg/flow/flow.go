// Package flow stands for the real one.
package flow

type Run struct{}

func (r *Run) Note(format string, args ...any) error { return nil }

func Map[In, Out any](r *Run, xs []In, f func(*Run, In) (Out, error)) ([]Out, error) { return nil, nil }

func Do[Out any](r *Run, kind, name string, in any) (Out, error) { var out Out; return out, nil }

func Define(name string, f func(*Run, string) (string, error)) {}
