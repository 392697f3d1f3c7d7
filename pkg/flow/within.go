package flow

import "time"

// Within runs f as part of r and bounds the time that its steps may take, all
// together: what is under way when the time is over fails with the code
// [TimedOut], and so does every step of f after it. Time that passes while
// people are waited for, and while nobody runs the job, does not count: a run
// that is taken over by another process gets its time anew. Zero is no bound.
//
// Engines without a clock of their own for it bound each step by d.
func Within[Out any](r *Run, d time.Duration, f func(*Run) (Out, error)) (Out, error) {
	if d <= 0 {
		return f(r)
	}
	before := r.bound
	r.bound = &bound{d: d, up: before}
	defer func() { r.bound = before }()
	return f(r)
}
