package workflows

import (
	"fmt"
	"time"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
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

// An analysis is what a model reports of a failed attempt.
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
	prompt := sc.Task.Prompt
	var tries []Try
	for n := 1; ; n++ {
		rep, err := spawn(sc, executor.SubAgentRequest{Agent: "worker", Prompt: prompt})
		if err != nil {
			return err
		}
		tries = append(tries, Try{Status: rep.Status, Reason: rep.Reason})
		if err := sc.Bind("attempts_made", tries); err != nil {
			return err
		}
		if rep.Status == executor.Done {
			sc.State.Last = rep.Summary
			return nil
		}
		if n == most {
			return fmt.Errorf("not done after %d attempts; the last: %s: %s", n, rep.Status, rep.Reason)
		}
		a, err := executor.AITurn[analysis](sc, executor.Turn{Act: true, Turns: 8, Prompt: fmt.Sprintf(
			"Attempt %d of %d at this task has failed.\n\nThe task:\n%s\n\nIt ended as %s: %s\n\nIts last words:\n%s\n\nWhat it had changed, which is still there:\n%s\n\nFind out why.",
			n, most, clip(sc.Task.Prompt, 4000), rep.Status, clip(rep.Reason, 4000), clip(rep.Summary, 2000), clip(text(rep.Artifacts["diff"]), 12000))})
		if tooLong(sc, err) {
			a = analysis{Cause: "It was not found out."}
		} else if err != nil {
			return fmt.Errorf("looking into attempt %d: %w", n, err)
		}
		if tries[n-1].Analysis = &a; a.Hopeless {
			return fmt.Errorf("attempt %d failed, and another would too: %s", n, a.Cause)
		}
		if err := sc.Bind("attempts_made", tries); err != nil {
			return err
		}
		if err := flow.Sleep(sc.Run, pause<<(n-1)); err != nil {
			return err
		}
		prompt = fmt.Sprintf("%s\n\nThis was tried before and failed; what was changed then is still there. Why: %s\nDo in another way: %s", sc.Task.Prompt, a.Cause, a.Advice)
	}
}
