package workflows

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/executor"
)

// verify runs tests and type checks, and gives the model one round to repair what
// fails.
func (res *Worked) verify(sc *executor.Scope) error {
	bad, err := res.failing(sc)
	if err != nil || bad == "" {
		return err
	}
	res.Repaired = true
	if _, err := executor.AITurn[Progress](sc, executor.Turn{Act: true, Turns: turnsAtOnce, Without: commits(), Prompt: "Checks fail after your changes:\n" + clip(bad, 16000) +
		"\n\nMake the cause right, then say where you stand."}); err != nil && !tooLong(sc, err) {
		return err
	}
	if bad, err = res.failing(sc); err == nil && bad != "" {
		err = fmt.Errorf("checks still fail after a round to mend them: %s", clip(bad, 2000))
	}
	return err
}

// failing gives what fails now, empty if nothing does.
func (res *Worked) failing(sc *executor.Scope) (string, error) {
	var bad []string
	t, err := runTests(sc)
	if err != nil {
		return "", err
	}
	if res.Tests = t; t.Some && !t.OK {
		bad = append(bad, t.Text)
	}
	types, err := runTypes(sc)
	return strings.Join(append(bad, types...), "\n\n"), err
}

// A selfReview is what a model reports of its own changes.
type selfReview struct {
	Changed bool   `json:"changed" jsonschema:"description=You have put something right in this turn"`
	Verdict string `json:"verdict" jsonschema:"minLength=1,description=What you found and what is open"`
}

// review has the model look at its own changes. What it then changes is
// checked again.
func (res *Worked) review(sc *executor.Scope) error {
	const short = 4000 // bytes that the reviewer of the whole sees at a glance
	before := value(sc, "diff")
	if res.part && len(before) < short {
		res.Review = "left to the review of the whole task"
		return nil
	}
	r, err := executor.AITurn[selfReview](sc, executor.Turn{Act: true, Turns: 15, Without: commits(), Prompt: "Review your changes as if somebody else had made them: wrong results, lost errors, cases without a test, what should not be there. Put right what you find.\n\n" +
		clip(text(before), 16000)})
	if err != nil && !tooLong(sc, err) {
		return err
	}
	if res.Review = r.Verdict; slices.Equal(before, value(sc, "diff")) {
		return nil
	}
	bad, err := res.failing(sc)
	if err == nil && bad != "" {
		err = fmt.Errorf("checks fail after the review of its own changes: %s", clip(bad, 2000))
	}
	return err
}
