package workflows

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// redo has a fixer do a part again on the tree as it is, once: what the others
// changed meanwhile stays, and the version that is in conflict is shown.
func (p *Part) redo(sc *executor.Scope, s Subtask, rep executor.Report) error {
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

// fix has what a review found made right, once.
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

// part is what a worker that takes it is given beside the prompt: the files of the part.
func (s Subtask) part(sc *executor.Scope) (map[string]json.RawMessage, error) {
	if sc.Task.Revision < turn.NamesWhole || sc.Task.Spawn == nil || len(s.Files) == 0 {
		return nil, nil
	}
	var worker agents.DynamicAgent // the user may have one of that name
	if err := json.Unmarshal(sc.Task.Spawn.Agents["worker"].Spec, &worker); err != nil || !slices.ContainsFunc(worker.Inputs, func(f agents.Field) bool { return f.Name == "part" }) {
		return nil, err
	}
	files, err := json.Marshal(s.Files)
	return map[string]json.RawMessage{"part": files}, err
}

func (s Subtask) prompt(task string, of, revision int) string {
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
