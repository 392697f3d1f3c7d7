package flowtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/adroit-run/adroit/pkg/flow"
)

// part is a child with turns of its own, and children.
var part = flow.Define("part", func(r *flow.Run, n int) (int, error) {
	sum := 0
	if _, err := flow.Load(r, &sum); err != nil {
		return 0, err
	}
	for i := sum; i < n; i++ {
		v, err := flow.Do[int](r, "echo", fmt.Sprint("turn ", i), 1)
		if err != nil {
			return 0, err
		}
		sum += v
		if err := flow.Save(r, sum); err != nil {
			return 0, err
		}
	}
	if n > 2 {
		more, err := child(r, "part", n-2)
		return sum + more, err
	}
	if n < 0 {
		return sum, errors.New("less than nothing")
	}
	return sum, nil
})

func child(r *flow.Run, workflow string, n int) (int, error) {
	out, err := flow.Child(r, fmt.Sprint("part of ", n), workflow, n, func(json.RawMessage, error) (string, any) { return "ended", nil })
	if err != nil {
		return 0, err
	}
	var sum int
	return sum, json.Unmarshal(out, &sum)
}

// whole has children one after the other, at once, and one that fails.
var whole = flow.Define("whole", func(r *flow.Run, _ any) (string, error) {
	a, err := child(r, "part", 4)
	if err != nil {
		return "", err
	}
	bs, err := flow.Map(r, []int{1, 2, 3}, func(r *flow.Run, n int) (int, error) { return child(r, "part", n) })
	if err != nil {
		return "", err
	}
	_, fails := child(r, "part", -1)
	_, unknown := child(r, "nobody", 1)
	last, err := flow.Do[int](r, "echo", "last", 9)
	return fmt.Sprint(a, bs, last, "; ", fails, "; ", unknown), err
})

const wholeEnds = `"6 [1 2 4] 9; less than nothing; part of 1: this program has no workflow \"nobody\""`

func children(t *testing.T, h Harness) {
	var log effects
	equal(t, "result", h.must(t, Request{Workflow: whole, Known: []flow.Workflow{part}, Mux: log.mux()}), wholeEnds)
}

func killChildren(t *testing.T, h Harness) {
	var log effects
	if n := crash(t, h, Request{Workflow: whole, Known: []flow.Workflow{part}, Mux: log.mux()}, &log, 3); n < 60 {
		t.Errorf("only %d points", n)
	}
}
