package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// TestConditionInJSON checks that a condition survives its encoding, and that one
// that is not known is no criterion that always holds.
func TestConditionInJSON(t *testing.T) {
	const text = `{"check":"run_tests","when":{"artifact":"diff"}}`
	var c executor.Criterion
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(c); err != nil || string(b) != text {
		t.Errorf("%s, %v", b, err)
	}
	if got := strings.Join(c.Describe(), "\n"); got != "if a file was changed: run_tests passes; it is run for you when all else holds" {
		t.Errorf("it is described as %q", got)
	}
	if err := json.Unmarshal([]byte(`{"check":"run_tests","unless":{"artifact":"diff"}}`), &c); err == nil {
		t.Error("an unknown condition is decoded as none")
	}
}

// TestWordIsNotTheWork checks how work ends for models that never say that it is
// done, and for those that say that there is none.
func TestWordIsNotTheWork(t *testing.T) {
	change, look := calls(call("change", `{}`)), calls(call("peek", `{}`))
	declines := func(result string) llm.Message {
		return calls(llm.Call{Name: "finish", Args: json.RawMessage(`{"summary":"It is so.","outcome":"` + result + `"}`)})
	}
	var looks []llm.Message
	for i := range 7 {
		looks = append(looks, calls(call("add", fmt.Sprintf(`{"n":%d}`, i))), say("So far."))
	}
	conditional := func(t *executor.Task) {
		t.Done = executor.Criterion{When: &executor.Criterion{Artifact: "diff"}, Check: "check"}
	}
	const shown = "```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n```"
	for name, c := range map[string]struct {
		turns  []llm.Message
		edit   func(*executor.Task)
		red    bool
		status string
		asked  int
		words  string // in the summary or the reason
		seen   string // by the model
	}{
		"finish":                            {turns: []llm.Message{change, calls(call("finish", `{"summary":"All is well."}`))}, status: executor.Done, asked: 2, words: "All is well."},
		"text, green":                       {turns: []llm.Message{change, say("All is well.")}, status: executor.Done, asked: 2, words: "All is well."},
		"nothing, green":                    {turns: []llm.Message{change, say("")}, status: executor.Done, asked: 3},
		"text, red, then green":             {turns: []llm.Message{change, say("I am done."), change, say("All is well.")}, red: true, status: executor.Done, asked: 4, words: "All is well.", seen: "two tests fail"},
		"text before anything was done":     {turns: []llm.Message{say("I begin by looking."), change, say("All is well.")}, status: executor.Done, asked: 3, seen: "no file has been changed\n"},
		"text seven times, work between":    {turns: slices.Concat(looks, []llm.Message{change, say("All is well.")}), status: executor.Done, asked: 16},
		"no word is asked for, none needed": {turns: []llm.Message{say("I begin.")}, edit: func(t *executor.Task) { t.Done = executor.Criterion{} }, status: executor.Done, asked: 1},
		"the word alone is the work":        {turns: []llm.Message{look, say("It is fine.")}, edit: func(t *executor.Task) { t.Done = executor.Criterion{Signal: "APPROVED"} }, status: executor.Stuck, asked: 8},
		"not needed":                        {turns: []llm.Message{declines("not_needed"), look, declines("not_needed")}, status: executor.NotNeeded, asked: 3, words: "It is so.", seen: "call finish with outcome not_needed again"},
		"not needed, red":                   {turns: []llm.Message{declines("not_needed"), declines("not_needed")}, red: true, status: executor.NotNeededUnproven, asked: 2, words: "two tests fail"},
		"not needed, then a change":         {turns: []llm.Message{declines("not_needed"), change, declines("not_needed")}, status: executor.Done, asked: 3},
		"not needed, no check":              {turns: []llm.Message{declines("not_needed")}, edit: func(t *executor.Task) { t.Done = executor.Criterion{Artifact: "diff"} }, status: executor.NotNeededUnproven, asked: 2},
		"not needed, no change was asked":   {turns: []llm.Message{declines("not_needed")}, edit: func(t *executor.Task) { t.Done = executor.Criterion{Check: "check"} }, status: executor.Done, asked: 1},
		"not needed, in a word":             {turns: []llm.Message{say("It is so.\nNOT_NEEDED")}, status: executor.NotNeeded, asked: 2, words: "It is so."},
		"cannot be done":                    {turns: []llm.Message{look, declines("cannot_be_done")}, status: executor.CannotBeDone, asked: 2, words: "It is so."},
		"went silent":                       {turns: []llm.Message{say("")}, status: executor.Silent, asked: 3},
		"a question":                        {turns: []llm.Message{look, say("It counts.")}, edit: conditional, status: executor.Answered, asked: 2, words: "no file was changed"},
		"a question, finish":                {turns: []llm.Message{calls(call("finish", `{"summary":"It counts."}`))}, edit: conditional, red: true, status: executor.Answered, asked: 1, words: "It counts."},
		"a change, green":                   {turns: []llm.Message{change, say("All is well.")}, edit: conditional, status: executor.Done, asked: 2, words: "check passed"},
		"a change, red":                     {turns: []llm.Message{change, say("So."), change, say("Now.")}, edit: conditional, red: true, status: executor.Done, asked: 4, seen: "two tests fail"},
		"a condition of another kind": {turns: []llm.Message{say("It counts.")}, edit: func(t *executor.Task) {
			t.Done = executor.Criterion{When: &executor.Criterion{Check: "peek"}, Check: "check"}
		}, status: executor.Done, asked: 1, words: "check passed"},
		"a diff, confirmed":             {turns: []llm.Message{say("So:\n" + shown), declines("not_needed")}, edit: conditional, status: executor.Answered, asked: 2, words: "+++ b/a.txt", seen: "the change of a.txt that your answer shows was not made"},
		"a diff, in a word":             {turns: []llm.Message{say(shown), say("NOT_NEEDED")}, edit: conditional, status: executor.Answered, asked: 2, words: "+++ b/a.txt"},
		"a diff, claimed":               {turns: []llm.Message{say(shown), calls(call("finish", `{"summary":"Done, changed."}`))}, edit: conditional, status: executor.Stuck, asked: 7, words: "the change of a.txt"},
		"a diff, then made":             {turns: []llm.Message{say(shown), change, say("Changed.")}, edit: conditional, status: executor.Done, asked: 3},
		"a diff, given up":              {turns: []llm.Message{say(shown), declines("cannot_be_done")}, edit: conditional, status: executor.CannotBeDone, asked: 2},
		"a diff of the work":            {turns: []llm.Message{change, say("I did this:\n" + shown)}, edit: conditional, status: executor.Done, asked: 2},
		"a diff in a plan":              {turns: []llm.Message{say(shown)}, edit: func(t *executor.Task) { conditional(t); t.PlanOnly = true }, status: executor.Planned, asked: 1},
		"a diff, before":                {turns: []llm.Message{say(shown)}, edit: func(t *executor.Task) { conditional(t); t.Revision = 9 }, status: executor.Answered, asked: 1},
		"a block to search and replace": {turns: []llm.Message{say("a.txt\n```\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n```"), say("Done, changed.")}, edit: conditional, status: executor.Stuck, asked: 7, words: "the change of a.txt"},
		"a patch":                       {turns: []llm.Message{say("*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch"), change, say("Changed.")}, edit: conditional, status: executor.Done, asked: 3},
		"a conflict in words":           {turns: []llm.Message{say("In a.txt:\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> main")}, edit: conditional, status: executor.Answered, asked: 1},
		"a plan":                        {turns: []llm.Message{say("First this, then that.")}, edit: func(t *executor.Task) { t.Done, t.PlanOnly = executor.Criterion{}, true }, status: executor.Planned, asked: 1, words: "nothing was changed or tested"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.turns...)
			runs := 0
			type nothing struct{}
			var err error
			w.tools, err = w.tools.With(
				tools.New(tools.Metadata{Name: "change", Description: "Change a file.", Needs: tools.Write, Produces: []string{"diff"}}, func(context.Context, *tools.Env, nothing) (tools.Result, error) {
					return tools.Result{Text: "changed", Artifacts: map[string]json.RawMessage{"diff": json.RawMessage(`"+x"`)}}, nil
				}),
				tools.New(tools.Metadata{Name: "check", Description: "Run the tests.", Needs: tools.Exec}, func(context.Context, *tools.Env, nothing) (tools.Result, error) {
					if runs++; c.red && (runs == 1 || c.status != executor.Done) {
						return tools.Result{Failed: true, Text: "two tests fail"}, nil
					}
					return tools.Result{Text: "ok"}, nil
				}))
			if err != nil {
				t.Fatal(err)
			}
			s, err := w.run(t, new(flow.Memory), w.task(func(task *executor.Task) {
				task.Tools, task.Revision = agents.PinTools(w.tools), turn.Revision
				task.Done = executor.Criterion{All: []executor.Criterion{{Signal: "TASK_COMPLETE"}, {Artifact: "diff"}, {Check: "check"}}}
				if c.edit != nil {
					c.edit(task)
				}
			}))
			if s.Outcome == nil || s.Outcome.Status != c.status || !strings.Contains(s.Outcome.Summary+s.Outcome.Reason, c.words) {
				t.Fatalf("%+v, want %s with %q (%v)", s.Outcome, c.status, c.words, err)
			}
			if stop := new(executor.StopError); s.Outcome.Succeeded() != (err == nil) || err != nil && !errors.As(err, &stop) {
				t.Errorf("error %v for %s", err, c.status)
			}
			if int(w.asked.Load()) != c.asked {
				t.Errorf("%d requests, want %d", w.asked.Load(), c.asked)
			}
			var seen strings.Builder
			for _, m := range w.last {
				seen.WriteString(m.Text + "\n")
			}
			if !strings.Contains(seen.String(), c.seen) {
				t.Errorf("the model did not see %q:\n%s", c.seen, &seen)
			}
		})
	}
}

// TestNamesSpelledOtherwise checks that a native call by a name with one meaning is
// run, noted and counted under the tool's own, and that others are refused.
func TestNamesSpelledOtherwise(t *testing.T) {
	w := newWorld(t, calls(call("Peek", `{}`), call("ADD", `{"n":2}`), call("bash", `{}`), call("shell", `{}`)), say("Two."))
	s, err := w.run(t, new(flow.Memory), w.task(nil))
	if err != nil || s.Called["peek"] != 1 || s.Called["add"] != 1 || len(s.Called) != 2 || w.added.Load() != 2 {
		t.Fatalf("%v; called %v", err, s.Called)
	}
	var seen strings.Builder
	for _, m := range w.last {
		seen.WriteString(m.Text + "\n")
	}
	for _, want := range []string{"Peek is called peek; ADD is called add", `there is no tool "bash"`, `there is no tool "shell"`} {
		if !strings.Contains(seen.String(), want) {
			t.Errorf("the model did not see %q:\n%s", want, &seen)
		}
	}
}
