package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// reviewWorkflow has the same changes reviewed several times at once, each time
// for something else, and puts the findings together. A reviewer that does not
// get done is named in the result and takes nothing from the others. The
// artifact "review" is a [Review]; "findings" has its findings, as those of the
// agent reviewer.
var reviewWorkflow = agents.Define("fanout_review", fanoutReview)

// A Review combines several reviewers' findings.
type Review struct {
	Verdict  string      `json:"verdict"`
	Findings []Finding   `json:"findings"` // the gravest first
	Reviews  []focusArea `json:"reviews"`
}

// A focusArea is one review among several.
type focusArea struct {
	On     string `json:"on"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"` // why it is missing
	Found  int    `json:"found"`
}

func fanoutReview(sc *executor.Scope) error {
	focus := []string{"correctness", "security", "performance"}
	if ok, err := given(sc, "focus", &focus); err != nil {
		return fmt.Errorf("%w; a list is written as [\"correctness\", \"tests\"]", err)
	} else if ok && len(focus) == 0 {
		return errors.New("input focus is empty; name what to review for, or leave it out")
	}
	var orders []executor.SubAgentRequest
	for _, f := range focus {
		orders = append(orders, executor.SubAgentRequest{Agent: "reviewer", Prompt: fmt.Sprintf(
			"%s\n\nReview for %s only: others look for the rest. Leave out what is none of it.", sc.Task.Prompt, f)})
	}
	reps, err := spawnAll(sc, orders...)
	if err != nil {
		return err
	}
	var res Review
	var missing []string
	lists := make([][]Finding, len(focus))
	for i, rep := range reps {
		list, ok := findings(rep)
		one := focusArea{On: focus[i], Status: rep.Status, Found: len(list)}
		if !ok {
			one.Reason = cmp.Or(rep.Reason, "it reported nothing")
			missing = append(missing, fmt.Sprintf("%s: %s: %s", focus[i], rep.Status, one.Reason))
		}
		lists[i] = list
		res.Reviews = append(res.Reviews, one)
	}
	if len(missing) == len(focus) {
		return fmt.Errorf("none of the reviews was done: %s", strings.Join(missing, "; "))
	}
	res.Findings = merge(focus, lists)
	if res.Verdict = tally(res.Findings, true); missing != nil {
		res.Verdict += "; not reviewed for " + strings.Join(missing, "; ")
	}
	sc.State.Last = res.text()
	return errors.Join(sc.Bind("findings", res.Findings), sc.Bind("review", res))
}

// text are the review for people.
func (res *Review) text() string {
	var b strings.Builder
	b.WriteString(res.Verdict + "\n")
	for _, f := range res.Findings {
		fmt.Fprintf(&b, "%s:%d: %s (%s): %s\n", f.File, f.Line, f.Severity, strings.Join(f.Found, ", "), f.Title)
	}
	return strings.TrimSpace(b.String())
}
