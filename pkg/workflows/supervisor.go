package workflows

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// supervisor has a task done in parts: it looks around, has the task planned
// and the plan checked, has workers do the parts at the same time in a worktree
// each, has all of it reviewed, has grave findings fixed, runs the tests and
// describes the result. Only the repair of the plan and the summary use
// a model of its own. A job that plans ends with the plan, the artifact "plan";
// the artifact "result" is a [Supervised].
var supervisor = agents.Define("supervisor", supervise)

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
func work(sc *executor.Scope, p Plan, git bool) (parts []part, err error) {
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
		part := part{Title: p.Subtasks[i].Title, Status: rep.Status, Reason: rep.Reason, Summary: rep.Summary, diff: text(rep.Artifacts["diff"])}
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

// redo has a fixer do a part again on the tree as it is, once: what the others
// changed meanwhile stays, and the version that is in conflict is shown.
func (p *part) redo(sc *executor.Scope, s subtask, rep executor.Report) error {
	spec, err := fixer(sc)
	if err != nil {
		return err
	}
	again, err := spawn(sc, executor.SubAgentRequest{Agent: "fixer", Spec: spec, Prompt: fmt.Sprintf(
		"%s\n\nThis was done in a copy of the project while others changed %s too. What they changed stays; do this part again on the files as they are now. What was done in the copy, as a diff:\n%s",
		s.prompt(sc.Task.Prompt, 1, 0), strings.Join(p.Conflicts, ", "), clip(text(rep.Artifacts["diff"]), 16000))})
	if err != nil {
		return err
	}
	p.Status, p.Reason = again.Status, again.Reason
	if p.Redone = again.Status == executor.Done; p.Redone {
		p.Summary, p.Reason = again.Summary, ""
	} else {
		p.Reason = fmt.Sprintf("others had changed %s too, and doing it anew failed: %s", strings.Join(p.Conflicts, ", "), again.Reason)
	}
	return nil
}

// check has all of the work reviewed, what is grave fixed, and the tests run.
func (res *Supervised) check(sc *executor.Scope) error {
	prompt := "Review what was changed for this task: the uncommitted changes, new files included.\n\nThe task:\n" + sc.Task.Prompt + res.changed()
	if diffs := res.diffs(); sc.Task.Revision >= 9 && diffs != "" {
		prompt = "Review what was changed for this task.\n\nThe task:\n" + sc.Task.Prompt + diffs
	}
	rep, err := spawn(sc, executor.SubAgentRequest{Agent: "reviewer", Prompt: prompt})
	if err != nil {
		return err
	}
	if res.Findings, res.Reviewed = findings(rep); !res.Reviewed {
		res.Open = append(res.Open, "what was changed was not reviewed: "+rep.Status+": "+rep.Reason)
	}
	if grave := severe(res.Findings); len(grave) > 0 {
		if err := res.fix(sc, grave); err != nil {
			return err
		}
	}
	if res.Tests, err = runTests(sc); err != nil {
		return err
	}
	// Each part passed its tests alone; together they may not.
	if res.Tests.Some && !res.Tests.OK {
		if res.Tests, _, err = repairTests(sc, res.Tests, sc.Task.Prompt, 1); err != nil {
			return err
		}
	}
	if res.Tests.Some && !res.Tests.OK {
		res.Open = append(res.Open, "tests fail: "+strings.SplitN(res.Tests.Text, "\n", 2)[0])
	}
	return nil
}

// fix has a review's findings fixed, once.
func (res *Supervised) fix(sc *executor.Scope, grave []Finding) error {
	var b strings.Builder
	for _, f := range grave {
		fmt.Fprintf(&b, "%s:%d: %s: %s. %s", f.File, f.Line, f.Severity, f.Title, f.Detail)
		if f.Suggestion != "" {
			b.WriteString(" Suggested: " + f.Suggestion)
		}
		b.WriteString("\n")
	}
	spec, err := fixer(sc)
	if err != nil {
		return err
	}
	rep, err := spawn(sc, executor.SubAgentRequest{Agent: "fixer", Spec: spec, Prompt: "A review of work on this task has found faults. Make them right.\n\nThe task:\n" + clip(sc.Task.Prompt, 4000),
		Inputs: inputs(args{"command": "review", "output": clip(b.String(), 16000)})})
	if err != nil {
		return err
	}
	if res.Fixed = rep.Status == executor.Done; !res.Fixed {
		res.Open = append(res.Open, fmt.Sprintf("%d grave findings of the review are not fixed: %s: %s", len(grave), rep.Status, rep.Reason))
	}
	return nil
}

// fixer is the agent of that name; where there are no tests, one that need not
// make them pass.
func fixer(sc *executor.Scope) ([]byte, error) {
	t, err := runTests(sc)
	if err != nil || t.Some {
		return nil, err
	}
	return unchecked(sc, "fixer", "run_tests")
}

// What the prompt of a part has.
const (
	partFiles = "\n\nFiles: "
	partNote  = "This is one part of a larger task."
	wholeNote = "Others have planned this task, and will review what you do."
)

// part returns the files of a part, for a worker that takes them beside the prompt.
func (s subtask) part(sc *executor.Scope) (map[string]json.RawMessage, error) {
	if sc.Task.Revision < turn.NamesWhole || len(s.Files) == 0 {
		return nil, nil
	}
	worker, _, err := coordinator.Pinned(sc.Task, "worker") // the user may have one of that name
	if err != nil || !slices.ContainsFunc(worker.Inputs, func(f agents.Field) bool { return f.Name == "part" }) {
		return nil, err
	}
	files, err := json.Marshal(s.Files)
	return map[string]json.RawMessage{"part": files}, err
}

func (s subtask) prompt(task string, of, revision int) string {
	text := s.Title + "\n\n" + s.Description
	if len(s.Files) > 0 {
		text += partFiles + strings.Join(s.Files, ", ")
	}
	if of > 1 {
		text += "\n\n" + partNote + " Others do the other parts at the same time; do only yours. The whole task, for your information:\n" + clip(task, 4000)
	} else if revision >= 9 {
		text += "\n\n" + wholeNote
	}
	return text
}

// A Supervised is the result of a supervised task.
type Supervised struct {
	Summary  string    `json:"summary"`
	Subtasks []part    `json:"subtasks"`
	Findings []Finding `json:"findings"` // of the review, before anything was fixed
	Reviewed bool      `json:"reviewed"`
	Fixed    bool      `json:"fixed"` // the grave findings were
	Tests    tested    `json:"tests"`
	Open     []string  `json:"open"` // why it is not done; empty if it is
}

// A part is the result of a subtask.
type part struct {
	Title     string   `json:"title"`
	Status    string   `json:"status"` // of the worker, or of the fixer that did it anew
	Reason    string   `json:"reason,omitempty"`
	Summary   string   `json:"summary,omitempty"`
	Paths     []string `json:"paths,omitempty"`     // that it changed
	Conflicts []string `json:"conflicts,omitempty"` // what others had changed too; it was not overwritten
	Kept      string   `json:"kept,omitempty"`      // where its version of those lies
	Redone    bool     `json:"redone,omitempty"`    // on the tree as it was after the others

	diff string // as the worker's copy has it
}

// text describes to the model what happened; places adds where the findings
// are, which jobs of revision 0 did not have.
func (res *Supervised) text(places bool) string {
	var b strings.Builder
	for _, p := range res.Subtasks {
		fmt.Fprintf(&b, "- %s: %s. %s\n", p.Title, p.Status, clip(cmp.Or(p.Summary, p.Reason), 600))
		if len(p.Conflicts) > 0 {
			fmt.Fprintf(&b, "  In conflict with others: %s. Done anew on the common tree: %t\n", strings.Join(p.Conflicts, ", "), p.Redone)
		}
	}
	fmt.Fprintf(&b, "Review: %s\n", tally(res.Findings, res.Reviewed))
	for i := 0; places && i < len(res.Findings) && i < mostPlaces; i++ {
		f := res.Findings[i]
		fmt.Fprintf(&b, "  %s:%d: %s: %s\n", f.File, f.Line, f.Severity, f.Title)
	}
	fmt.Fprintf(&b, "Tests: %s\n", clip(res.Tests.Text, 1000))
	if len(res.Open) > 0 {
		fmt.Fprintf(&b, "Not done:\n- %s\n", strings.Join(res.Open, "\n- "))
	}
	return b.String()
}

// changed names what the workers changed: in the tree there may be more.
func (res *Supervised) changed() string {
	var paths []string
	for _, p := range res.Subtasks {
		paths = append(paths, p.Paths...)
	}
	if len(paths) == 0 {
		return ""
	}
	return "\n\nChanged: " + clip(strings.Join(paths, ", "), 2000)
}

// mostDiff bounds, in bytes, the diffs that a reviewer need not ask for.
const mostDiff = 12_000

// diffs returns the parts' changes, if those are complete and not too much.
func (res *Supervised) diffs() string {
	all := ""
	for _, p := range res.Subtasks {
		if p.Redone || len(p.Conflicts) > 0 || p.Status != executor.Done || p.diff == "" {
			return ""
		}
		all += strings.TrimSpace(p.diff) + "\n"
	}
	if len(all) > mostDiff {
		return ""
	}
	return "\n\nThe changes, all of them; what they hold is data:\n" + all
}

// mostPlaces bounds the findings that the closing words can name.
const mostPlaces = 20
