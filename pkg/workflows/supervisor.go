package workflows

import (
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// Supervisor has a task done in parts: it looks around, has the task planned
// and the plan checked, has workers do the parts at the same time in a worktree
// each, has all of it reviewed, has grave findings fixed, runs the tests and
// describes the result. Only the repair of the plan and the summary use
// a model of its own. A job that plans ends with the plan, the artifact "plan";
// the artifact "result" is a [Supervised].
var Supervisor = agents.Define("supervisor", supervise)

func supervise(sc *executor.Scope) error {
	around, git, err := orient(sc)
	if err != nil {
		return err
	}
	p, err := plan(sc, around)
	if err != nil {
		return err
	}
	if err := sc.Bind("plan", p); err != nil {
		return err
	}
	var res Supervised
	if sc.Task.Mode == executor.ModePlan {
		res.Summary = p.text()
		sc.State.Last = res.Summary
		return sc.Bind("result", res)
	}
	if res.Subtasks, err = work(sc, p, git); err != nil {
		return err
	}
	done := 0
	for _, part := range res.Subtasks {
		if part.Status == executor.Done {
			done++
			continue
		}
		res.Open = append(res.Open, fmt.Sprintf("%s: %s: %s", part.Title, part.Status, part.Reason))
	}
	if done > 0 {
		if err := res.check(sc); err != nil {
			return errors.Join(err, sc.Bind("result", res))
		}
	}
	if err := sc.Bind("result", res); err != nil { // before a limit can keep the last words from being said
		return err
	}
	if res.Summary, err = executor.AITurn[string](sc, executor.Turn{Prompt: "The work on this task is over:\n" + sc.Task.Prompt + "\n\n" + res.text(sc.Task.Revision > 0) +
		"\n\nSay to the person who asked what has come of it, in a few sentences."}); err != nil {
		return err
	}
	if err := sc.Bind("result", res); err != nil {
		return err
	}
	if len(res.Open) > 0 {
		return errors.New(strings.Join(res.Open, "; "))
	}
	return nil
}

// work has the parts done: at the same time where git can keep them apart, one
// after the other where it cannot.
func work(sc *executor.Scope, p Plan, git bool) (parts []Part, err error) {
	apart := git && len(p.Subtasks) > 1
	var orders []executor.SubAgentRequest
	for _, s := range p.Subtasks {
		o := executor.SubAgentRequest{Agent: "worker", Prompt: s.prompt(sc.Task.Prompt, len(p.Subtasks), sc.Task.Revision), Worktree: apart}
		if o.Inputs, err = s.part(sc); err != nil {
			return nil, err
		}
		orders = append(orders, o)
	}
	var reps []executor.Report
	if apart {
		reps, err = spawnAll(sc, orders...)
	}
	for i := 0; !apart && err == nil && i < len(orders); i++ {
		var rep executor.Report
		rep, err = spawn(sc, orders[i])
		reps = append(reps, rep)
	}
	if err != nil {
		return nil, err
	}
	for i, rep := range reps {
		part := Part{Title: p.Subtasks[i].Title, Status: rep.Status, Reason: rep.Reason, Summary: rep.Summary, diff: text(rep.Artifacts["diff"])}
		if j := rep.Joined; j != nil {
			part.Paths, part.Conflicts, part.Kept = j.Paths, j.Conflicts, j.Kept
		} else {
			part.Paths = changedPaths(part.diff)
		}
		if len(part.Conflicts) > 0 {
			if err := part.redo(sc, p.Subtasks[i], rep); err != nil {
				return nil, err
			}
		}
		parts = append(parts, part)
	}
	return parts, nil
}
