package flowtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/flow/flowtest"
)

// approve looks at files in branches of branches, waits, and asks a person.
func approve(r *flow.Run, dirs [][]string) (string, error) {
	found, err := flow.Map(r, dirs, func(r *flow.Run, files []string) ([]string, error) {
		return flow.Map(r, files, func(r *flow.Run, file string) (string, error) {
			return flow.Do[string](r, "tool", "read_file", file)
		})
	})
	if _, failed := errors.AsType[*flow.StepError](err); err != nil && !failed {
		return "", err
	}
	if err := errors.Join(r.Note("%d directories", len(dirs)), flow.Sleep(r, time.Hour)); err != nil {
		return "", err
	}
	yes, err := flow.Await[bool](r, "approve", 0)
	return fmt.Sprint(found, yes), err
}

var reads = []flowtest.Line{
	{Step: "tool read_file", In: "a.go", Out: "A"},
	{Step: "tool read_file", In: "b.go", Err: errors.New("no b.go")},
	{Step: "tool", Out: "C"},
}

func TestPlay(t *testing.T) {
	dirs := [][]string{{"a.go", "b.go"}, {"c.go"}}
	got, err := flowtest.Play(t, approve, dirs, append(reads, flowtest.Line{Step: "await approve", Out: true})...)
	if err != nil || got != "[[A ] [C]] true" {
		t.Errorf("%s, %v", got, err)
	}
	late := &flow.Failure{Code: flow.TimedOut, Message: "too late"}
	_, err = flowtest.Play(t, approve, dirs, append(reads, flowtest.Line{Step: "await approve", Err: late})...)
	if e, ok := errors.AsType[*flow.StepError](err); !ok || e.Code != flow.TimedOut || e.Path != "3" {
		t.Errorf("timed out: %v", err)
	}
}

// TestPlaySignals has questions with several answers, one of them not waited
// for.
func TestPlaySignals(t *testing.T) {
	ask := func(r *flow.Run, _ string) (string, error) {
		stop, ok, err := flow.Poll(r, "stop")
		if err != nil || ok {
			return stop.Name, err
		}
		s, err := flow.AwaitAny(r, "may I?", 0, "yes", "no")
		return s.Name + string(s.Value), err
	}
	nobody := flowtest.Line{Step: "await stop", Err: &flow.Failure{Code: flow.TimedOut, Message: "nobody"}}
	for _, c := range []struct {
		script []flowtest.Line
		want   string
	}{
		{[]flowtest.Line{{Step: "await stop"}}, "stop"},
		{[]flowtest.Line{nobody, {Step: "await yes|no", Out: 1}}, "yes1"},
		{[]flowtest.Line{nobody, {Step: "await", Out: flow.Signal{Name: "no"}}}, "no"},
	} {
		if got, err := flowtest.Play(t, ask, "", c.script...); err != nil || got != c.want {
			t.Errorf("%q, %v, want %q", got, err, c.want)
		}
	}
}

// TestPlayChild has a child, which is one step whatever it would do.
func TestPlayChild(t *testing.T) {
	parent := func(r *flow.Run, task string) (string, error) {
		out, err := flow.Child(r, "worker", "agent", task, func(json.RawMessage, error) (string, any) { return "", nil })
		return string(out), err
	}
	got, err := flowtest.Play(t, parent, "do it", flowtest.Line{Step: "spawn worker", In: flow.Spawn{Workflow: "agent", Input: []byte(`"do it"`)}, Out: 7})
	if err != nil || got != "7" {
		t.Errorf("%s, %v", got, err)
	}
}

// A listener is a test that notes how it failed.
type listener struct {
	testing.TB
	words string
}

func (l *listener) Helper()                           {}
func (l *listener) Fatalf(format string, args ...any) { l.words = fmt.Sprintf(format, args...) }

func TestPlayFails(t *testing.T) {
	dirs := [][]string{{"a.go", "b.go"}, {"c.go"}}
	for name, c := range map[string]struct {
		script []flowtest.Line
		want   string
	}{
		"another step": {
			append(reads, flowtest.Line{Step: "model sum"}),
			"the workflow asks for await approve, the script has model sum\n" +
				"      script          workflow\n" +
				"   0  tool read_file  tool read_file (0.0.0.0.0)\n" +
				"   1  tool read_file  tool read_file (0.0.0.1.0)\n" +
				"   2  tool            tool read_file (0.1.0.0.0)\n" +
				"   3  model sum       await approve (3)\n",
		},
		"another input": {
			[]flowtest.Line{{Step: "tool read_file", In: "b.go"}},
			"tool read_file: the workflow asks with another input\nit asks:    \"a.go\"\nthe script: \"b.go\"\n",
		},
		"too short": {reads[:2], "the workflow asks for a step behind the end of the script: tool read_file\n"},
		"too long": {
			append(append(reads[:3:3], flowtest.Line{Step: "await approve", Out: true}), flowtest.Line{Step: "model sum"}),
			"the workflow is done (no error) before the script\n",
		},
	} {
		l := &listener{TB: t}
		_, _ = flowtest.Play(l, approve, dirs, c.script...)
		if !strings.HasPrefix(l.words, c.want) {
			t.Errorf("%s: it says\n%s\nwant\n%s", name, l.words, c.want)
		}
	}
}
