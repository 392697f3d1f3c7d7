package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// worker does one task by a fixed way: it looks around, has its model
// understand the task, plans if that is large, implements in a bounded number
// of attempts with research where the model asks for it, runs tests and type
// checks with one round to mend what fails, has the model review its own
// changes, and commits if the input commit is true. The turns of the model are
// one conversation. A job that plans ends with how it would go about it. The
// artifact "report" is a [Worked].
var worker = agents.Define("worker", doTask)

// An understanding is a model's report that it has understood a task.
type understanding struct {
	Approach string `json:"approach" jsonschema:"minLength=1,description=What you are going to change and where"`
	Large    bool   `json:"large" jsonschema:"description=It takes changes in many places that should be planned first"`
}

func doTask(sc *executor.Scope) error {
	commit := false
	if _, err := given(sc, "commit", &commit); err != nil {
		return err
	}
	around, _, err := orient(sc)
	if err != nil {
		return err
	}
	part, err := isPart(sc)
	if err != nil {
		return err
	}
	if part && sc.Task.Mode != executor.ModePlan {
		res := Worked{part: true}
		return res.finish(sc, "Do this task, with its tests. Then say where you stand.\n\n"+sc.Task.Prompt+"\n\n"+around, commit)
	}
	opening := "First understand this task: read the code it is about. Files are changed later, when a message asks for that."
	if sc.Task.Revision < 8 {
		opening = "Understand this task, and change nothing yet. Read the code it is about."
	}
	g, err := executor.AITurn[understanding](sc, executor.Turn{
		Act: true, Turns: 12, Without: commits(), Refuse: []string{"edit_*", "write_*", "apply_*", "delete_*", "move_*", "shell"},
		Prompt: opening + "\n\n" + sc.Task.Prompt + "\n\n" + around,
	})
	if err != nil && !tooLong(sc, err) {
		return fmt.Errorf("understanding the task: %w", err)
	}
	var res Worked
	next := "Now implement it, with its tests. Then say where you stand."
	if (g.Large || len(sc.Task.Prompt) > longTask) && coordinator.May(sc.Task, "planner") {
		if next, err = res.plan(sc, next); err != nil {
			return err
		}
	}
	if sc.Task.Mode == executor.ModePlan {
		res.Note = g.Approach
		if sc.State.Last = g.Approach; res.Planned {
			sc.State.Last += "\n\n" + next
		}
		return sc.Bind("report", res)
	}
	return res.finish(sc, next, commit)
}

// isPart reports whether a task is a small part of one that somebody has
// planned and will review: it is given the few files that it is about.
func isPart(sc *executor.Scope) (bool, error) {
	const few = 5
	switch {
	case sc.Task.Revision >= turn.NamesWhole:
		var files []string
		ok, err := given(sc, "part", &files)
		return ok && len(files) > 0 && len(files) <= few, err
	case sc.Task.Revision == 0:
		return false, nil
	}
	_, rest, ok := strings.Cut(sc.Task.Prompt, partFiles) // of older jobs, as they were worded
	names, _, _ := strings.Cut(rest, "\n")
	return ok && (strings.Contains(rest, partNote) || strings.Contains(rest, wholeNote)) && strings.Count(names, ", ") < few, nil
}

// finish does the work, commits it if that is asked, and reports.
func (res *Worked) finish(sc *executor.Scope, next string, commit bool) error {
	err := res.work(sc, next)
	if err == nil && commit {
		res.Commit, err = commitWork(sc)
	}
	if err == nil {
		sc.State.Last = res.Note
	}
	return errors.Join(err, sc.Bind("report", res)) // also what there is of one
}

func (res *Worked) work(sc *executor.Scope, next string) error {
	if err := res.implement(sc, next); err != nil {
		return err
	}
	if err := res.verify(sc); err != nil {
		return err
	}
	return res.review(sc)
}

// plan puts the planner's plan before what the model is shown next. That there
// is none keeps nobody from working.
func (res *Worked) plan(sc *executor.Scope, next string) (string, error) {
	rep, err := spawnFor[Plan](sc, executor.SubAgentRequest{Agent: "planner", Prompt: "Divide this task into steps that one worker does one after the other:\n" + sc.Task.Prompt})
	if err != nil {
		return next, err
	}
	var p Plan
	if rep.Status != executor.Done || rep.As(&p) != nil {
		return next, sc.Note("there is no plan: %s: %s", rep.Status, rep.Reason)
	}
	res.Planned = true
	return "Follow this plan:\n" + p.text() + "\n\n" + next, nil
}

// implement has the model work until it reports that the task is complete. What it
// asks is answered by the agent researcher; an attempt that takes too many
// turns is followed by another.
func (res *Worked) implement(sc *executor.Scope, next string) error {
	for res.Attempts < mostTries {
		res.Attempts++
		did, err := executor.AITurn[progress](sc, executor.Turn{Act: true, Turns: turnsAtOnce, Without: commits(), Prompt: next})
		if tooLong(sc, err) {
			next = "That took many turns. Go on with what is left of the task, then say where you stand."
			continue
		}
		if err != nil {
			return err
		}
		switch did.Status {
		case "complete":
			res.Note = did.Note
			return nil
		case "blocked":
			return fmt.Errorf("blocked: %s", did.Note)
		}
		if next, err = res.research(sc, cmp.Or(did.Question, did.Note)); err != nil {
			return err
		}
	}
	return fmt.Errorf("the task is not complete after %d attempts", res.Attempts)
}

// research has a question answered, and gives what the model is shown then.
func (res *Worked) research(sc *executor.Scope, question string) (string, error) {
	res.Asked = append(res.Asked, question)
	rep, err := spawn(sc, executor.SubAgentRequest{Agent: "researcher", Prompt: question})
	if err != nil {
		return "", err
	}
	var found struct {
		Answer     string
		Sources    []string
		Confidence string
	}
	if rep.Status != executor.Done || rep.As(&found) != nil {
		return fmt.Sprintf("Your question could not be answered: %s: %s. Decide with what you know, go on, and say where you stand.", rep.Status, rep.Reason), nil
	}
	return fmt.Sprintf("To your question %q the answer is (confidence %s, from %v):\n%s\n\nGo on with the task, then say where you stand.",
		question, found.Confidence, found.Sources, found.Answer), nil
}

// A Worked is a worker's report.
type Worked struct {
	Note     string   `json:"note"`     // what was done, in the model's words
	Planned  bool     `json:"planned"`  // the planner was asked
	Attempts int      `json:"attempts"` // at the implementation
	Asked    []string `json:"asked"`    // of the researcher
	Tests    tested   `json:"tests"`    // at the end
	Repaired bool     `json:"mended"`   // tests or types failed at first
	Review   string   `json:"review"`   // the model on its own changes
	Commit   string   `json:"commit,omitempty"`

	part bool // of a task that others plan and review
}

const (
	mostTries   = 10
	turnsAtOnce = 40   // of the model, in one attempt
	longTask    = 2000 // bytes from which a task is planned in any case
)

// verify runs tests and type checks, and gives the model one round to repair what
// fails.
func (res *Worked) verify(sc *executor.Scope) error {
	bad, err := res.failing(sc)
	if err != nil || bad == "" {
		return err
	}
	res.Repaired = true
	if _, err := executor.AITurn[progress](sc, executor.Turn{Act: true, Turns: turnsAtOnce, Without: commits(), Prompt: "Checks fail after your changes:\n" + clip(bad, 16000) +
		"\n\nMake the cause right, then say where you stand."}); err != nil && !tooLong(sc, err) {
		return err
	}
	if bad, err = res.failing(sc); err == nil && bad != "" {
		err = fmt.Errorf("checks still fail after a round to mend them: %s", clip(bad, 2000))
	}
	return err
}

// failing returns what fails now, empty if nothing does.
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

// A selfReview is a model's report on its own changes.
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
