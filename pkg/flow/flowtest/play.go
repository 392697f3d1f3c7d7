package flowtest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/flow"
)

// A Line is one step that a workflow is expected to ask for, and what it gets.
type Line struct {
	Step string // kind and name, "tool run_tests"; a kind alone is any name
	In   any    // what it asks with; nil does not look
	Out  any    // what it gets; of an await a flow.Signal, or the value of the first it names
	Err  error  // or how it fails; a *flow.Failure as it is
}

// Play runs a workflow without a model and a journal: script has the steps it
// asks for, in order, with what they give. Branches run one after the other.
// Play fails t with both lists beside each other if the workflow asks for
// something else, or is done before the script.
//
//	got, err := flowtest.Play(t, review, "cart.go",
//		flowtest.Line{Step: "tool read_file", Out: "package cart"},
//		flowtest.Line{Step: "model reviewer", Err: errors.New("overloaded")},
//		flowtest.Line{Step: "await verdict", Out: "go on"},
//	)
//
// Notes, calls, sleeps and checkpoints need no line; sleeps take no time. A poll for a
// signal that has no line finds none. A
// child is one step of kind spawn and runs nothing. A [flow.Workflow] is
// played by its Run.
func Play[In, Out any](t testing.TB, f func(*flow.Run, In) (Out, error), in In, script ...Line) (Out, error) {
	t.Helper()
	var out Out
	input, err := json.Marshal(in)
	if err != nil {
		t.Fatalf("flowtest: encoding the input: %v", err)
	}
	next, stop, result := flow.Pull(flow.Define("played", f), input)
	defer stop()
	p := &play{script: script}
	for p.wrong == "" {
		s, reply, ok := next()
		if !ok {
			break
		}
		reply(p.answer(s))
	}
	stop()
	res, err := result()
	if p.wrong == "" && len(p.asked) < len(script) {
		p.wrong = fmt.Sprintf("the workflow is done (%s) before the script", outcome(err))
	}
	if p.wrong != "" {
		t.Fatalf("%s\n%s", p.wrong, p.compare())
	}
	if jerr := json.Unmarshal(res, &out); len(res) > 0 && jerr != nil {
		t.Fatalf("flowtest: decoding the result: %v", jerr)
	}
	return out, err
}

func outcome(err error) string {
	if err != nil {
		return err.Error()
	}
	return "no error"
}

type play struct {
	script []Line
	asked  []flow.Step
	wrong  string
}

// answer gives s what the script has for it, or notes what is wrong.
func (p *play) answer(s flow.Step) (any, error) {
	if s.Kind == flow.KindSleep {
		return struct{}{}, nil
	}
	n := len(p.asked)
	if polls(s) && (n >= len(p.script) || !p.script[n].fits(s)) {
		return nil, &flow.Failure{Code: flow.TimedOut, Message: "nothing was sent"}
	}
	p.asked = append(p.asked, s)
	if n >= len(p.script) {
		p.wrong = fmt.Sprintf("the workflow asks for a step behind the end of the script: %s", called(s))
		return nil, nil
	}
	l := p.script[n]
	if !l.fits(s) {
		p.wrong = fmt.Sprintf("the workflow asks for %s, the script has %s", called(s), l.Step)
		return nil, nil
	}
	if why := l.differs(s); why != "" {
		p.wrong = fmt.Sprintf("%s: %s", called(s), why)
		return nil, nil
	}
	if _, whole := l.Out.(flow.Signal); s.Kind == flow.KindAwait && !whole && l.Err == nil {
		value, err := json.Marshal(l.Out)
		if err != nil {
			p.wrong = fmt.Sprintf("%s: encoding what the script gives: %v", called(s), err)
		}
		var w flow.Wait
		if err := json.Unmarshal(s.Input, &w); err != nil || len(w.Signals) == 0 {
			p.wrong = fmt.Sprintf("%s waits for no signal: %s, %v", called(s), s.Input, err)
			return nil, nil
		}
		return flow.Signal{Name: w.Signals[0], Value: value}, nil
	}
	return l.Out, l.Err
}

func (l Line) fits(s flow.Step) bool {
	kind, name, named := strings.Cut(l.Step, " ")
	return kind == s.Kind && (!named || name == s.Name)
}

// polls reports whether a step asks for signals that were sent before it.
func polls(s flow.Step) bool {
	var w flow.Wait
	return s.Kind == flow.KindAwait && json.Unmarshal(s.Input, &w) == nil && w.Timeout < 0
}

// differs describes how the input of s differs from the script's, "" if it does not.
func (l Line) differs(s flow.Step) string {
	if l.In == nil {
		return ""
	}
	want, err := json.Marshal(l.In)
	if err != nil {
		return fmt.Sprintf("the script's input cannot be encoded: %v", err)
	}
	if string(want) != string(s.Input) {
		return fmt.Sprintf("the workflow asks with another input\nit asks:    %s\nthe script: %s", s.Input, want)
	}
	return ""
}

// called is a step as a Line has it.
func called(s flow.Step) string { return strings.TrimSpace(s.Kind + " " + s.Name) }

// compare puts the script beside what was asked for.
func (p *play) compare() string {
	rows := [][3]string{{"", "script", "workflow"}}
	for i := range max(len(p.script), len(p.asked)) {
		row := [3]string{strconv.Itoa(i), "-", "-"}
		if i < len(p.script) {
			row[1] = p.script[i].Step
		}
		if i < len(p.asked) {
			row[2] = fmt.Sprintf("%s (%s)", called(p.asked[i]), p.asked[i].Path)
		}
		rows = append(rows, row)
	}
	wide := 0
	for _, r := range rows {
		wide = max(wide, len(r[1]))
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%4s  %-*s  %s\n", r[0], wide, r[1], r[2])
	}
	return b.String()
}
