package workflows

import (
	"errors"
	"fmt"
	"time"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// retryWorkflow has a worker try a task several times. Between two attempts its
// model finds out why the one before failed, for the next attempt. Pauses
// grow, and survive restarts. The artifact "attempts_made" lists the attempts.
var retryWorkflow = agents.Define("retry_analysis", retryAnalysis)

// A Try is one attempt.
type Try struct {
	Status   string    `json:"status"`
	Reason   string    `json:"reason,omitempty"`
	Analysis *analysis `json:"analysis,omitempty"` // made after it
}

// An analysis is a model's report on a failed attempt.
type analysis struct {
	Cause    string `json:"cause" jsonschema:"minLength=1,description=Why it failed"`
	Advice   string `json:"advice" jsonschema:"description=What the next attempt must do in another way"`
	Hopeless bool   `json:"hopeless" jsonschema:"description=No attempt can succeed without a person"`
}

func retryAnalysis(sc *executor.Scope) error {
	most, pause := 3, 2*time.Second
	if _, err := given(sc, "attempts", &most); err != nil {
		return err
	}
	if most < 1 || most > 10 {
		return fmt.Errorf("input attempts is %d; it is 1 to 10", most)
	}
	var words string
	if ok, err := sc.Value("pause", &words); err != nil {
		return err
	} else if ok {
		if pause, err = time.ParseDuration(words); err != nil || pause < 0 {
			return fmt.Errorf("input pause is %q; write it as in 10s", words)
		}
	}
	prompt, tries := sc.Task.Prompt, []Try{}
	var rep executor.Report
	attempt := func(coordinator.Action) (_ *coordinator.Problem, err error) {
		if rep, err = spawn(sc, executor.SubAgentRequest{Agent: "worker", Prompt: prompt}); err != nil {
			return nil, err
		}
		if tries = append(tries, Try{Status: rep.Status, Reason: rep.Reason}); rep.Status == executor.Done {
			sc.State.Last = rep.Summary
			return nil, sc.Bind("attempts_made", tries)
		}
		return &coordinator.Problem{Message: rep.Status + ": " + rep.Reason}, sc.Bind("attempts_made", tries)
	}
	p, err := attempt(coordinator.Action{})
	if err != nil || p == nil {
		return err
	}
	var failure error
	o := coordinator.Moves(sc.Task, coordinator.Move{Decide: true, Times: most})
	o.NoRules = true
	o.Show = func(*coordinator.Problem, *coordinator.Attempt) error { return nil }
	o.Decide = func(p *coordinator.Problem, n int) (act coordinator.Action, err error) {
		if act.Decision = coordinator.Fail; len(tries) == most {
			failure = fmt.Errorf("not done after %d attempts; the last: %s", most, p.Message)
			return act, nil
		}
		a, err := analyse(sc, rep, len(tries), most)
		if err != nil {
			return act, fmt.Errorf("looking into attempt %d: %w", len(tries), err)
		}
		if tries[n].Analysis = &a; a.Hopeless {
			failure = fmt.Errorf("attempt %d failed, and another would too: %s", len(tries), a.Cause)
			return act, nil
		}
		prompt = fmt.Sprintf("%s\n\nThis was tried before and failed; what was changed then is still there. Why: %s\nDo in another way: %s", sc.Task.Prompt, a.Cause, a.Advice)
		act.Decision, act.Wait = coordinator.Retry, pause<<n
		err = sc.Bind("attempts_made", tries)
		if act.Wait == 0 && err == nil && sc.Task.Revision < 11 {
			err = flow.Sleep(sc.Run, 0) // as journals have it
		}
		return act, err
	}
	_, err = coordinator.Coordinate(sc, o, p, attempt)
	return errors.Join(err, failure)
}

// analyse has the task's model find out why an attempt has failed.
func analyse(sc *executor.Scope, rep executor.Report, n, most int) (analysis, error) {
	a, err := executor.AITurn[analysis](sc, executor.Turn{Act: true, Turns: 8, Prompt: fmt.Sprintf(
		"Attempt %d of %d at this task has failed.\n\nThe task:\n%s\n\nIt ended as %s: %s\n\nIts last words:\n%s\n\nWhat it had changed, which is still there:\n%s\n\nFind out why.",
		n, most, clip(sc.Task.Prompt, 4000), rep.Status, clip(rep.Reason, 4000), clip(rep.Summary, 2000), clip(text(rep.Artifacts["diff"]), 12000))})
	if tooLong(sc, err) {
		return analysis{Cause: "It was not found out."}, nil
	}
	return a, err
}
