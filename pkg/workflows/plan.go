package workflows

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/adroit-run/adroit/pkg/executor"
)

// A Plan divides a task into parts that do not wait for each other: what the
// agent planner answers.
type Plan struct {
	Subtasks []subtask `json:"subtasks" jsonschema:"minItems=1,maxItems=12,description=The parts; one if the task is not worth dividing"`
}

// A subtask is one part, for one worker.
type subtask struct {
	Title       string   `json:"title" jsonschema:"minLength=3,maxLength=100,description=A few words that no other part has"`
	Description string   `json:"description" jsonschema:"minLength=20,description=What to do for somebody who knows nothing but this and the code"`
	Files       []string `json:"files" jsonschema:"maxItems=40,description=Paths that it will likely change or add"`
}

const mostSubtasks = 12

// faults lists what is wrong with a plan before anybody works by it, as far as
// code can tell.
func (p Plan) faults() (out []string) {
	bad := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	switch n := len(p.Subtasks); {
	case n == 0:
		bad("the plan has no subtasks")
	case n > mostSubtasks:
		bad("the plan has %d subtasks; make at most %d of them", n, mostSubtasks)
	}
	titles, owner := map[string]int{}, map[string]int{}
	for i, s := range p.Subtasks {
		n := i + 1
		title := strings.ToLower(strings.TrimSpace(s.Title))
		if title == "" {
			bad("subtask %d has no title", n)
		} else if m := titles[title]; m > 0 {
			bad("subtasks %d and %d have the same title", m, n)
		}
		titles[title] = n
		if len(strings.TrimSpace(s.Description)) < 20 {
			bad("subtask %d does not say what to do", n)
		}
		for _, f := range s.Files {
			name := path.Clean(f)
			switch m := owner[name]; {
			case strings.TrimSpace(f) == "" || path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") || name == ".":
				bad("subtask %d names %q, which is no file of the workspace", n, f)
			case m > 0 && m != n:
				bad("subtasks %d and %d both change %s; they work at the same time, so join them or divide them otherwise", m, n, name)
			default:
				owner[name] = n
			}
		}
	}
	return out
}

// text are the plan for people and models.
func (p Plan) text() string {
	var b strings.Builder
	for i, s := range p.Subtasks {
		fmt.Fprintf(&b, "%d. %s: %s", i+1, s.Title, s.Description)
		if len(s.Files) > 0 {
			fmt.Fprintf(&b, " (%s)", strings.Join(s.Files, ", "))
		}
		b.WriteString("\n")
	}
	return strings.TrimSpace(b.String())
}

// A verdict is the answer of the agent validator.
type verdict struct {
	Valid    bool     `json:"valid"`
	Problems []string `json:"problems"`
}

// plan has the task planned, the plan checked by code and by the agent
// validator, and a bad one repaired once by the task's own model.
func plan(sc *executor.Scope, around string) (p Plan, err error) {
	rep, err := spawnFor[Plan](sc, executor.SubAgentRequest{Agent: "planner", Prompt: "Plan this task:\n" + sc.Task.Prompt + "\n\n" + around})
	if err != nil {
		return p, err
	}
	var bad []string
	if rep.Status != executor.Done {
		bad = []string{"there is no plan: the planner ended as " + rep.Status + ": " + rep.Reason}
	} else if err := rep.As(&p); err != nil {
		bad = []string{err.Error()}
	} else if bad = p.faults(); bad == nil {
		if bad, err = refused(sc, p); err != nil {
			return p, err
		}
	}
	if bad == nil {
		return p, nil
	}
	if err := sc.Note("the plan cannot be used: %s", strings.Join(bad, "; ")); err != nil {
		return p, err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return p, err
	}
	p, err = executor.AITurn[Plan](sc, executor.Turn{Act: true, Turns: 8, Prompt: fmt.Sprintf(
		"Task:\n%s\n\n%s\n\nThis plan for it cannot be used:\n%s\n\n- %s\n\nWrite the plan anew. Its parts are done at the same time by workers who know nothing of each other; no file belongs to two parts.",
		sc.Task.Prompt, around, text, strings.Join(bad, "\n- "))})
	if err != nil {
		return p, fmt.Errorf("repairing the plan: %w", err)
	}
	if bad = p.faults(); bad != nil {
		return p, fmt.Errorf("the task could not be planned: %s", strings.Join(bad, "; "))
	}
	return p, nil
}

// refused asks the agent validator about a plan. That it cannot say is no
// fault of the plan.
func refused(sc *executor.Scope, p Plan) ([]string, error) {
	text, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return nil, err
	}
	rep, err := spawnFor[verdict](sc, executor.SubAgentRequest{Agent: "validator",
		Prompt: "The task:\n" + sc.Task.Prompt + "\n\nThe plan, whose parts are done at the same time:\n" + string(text)})
	if err != nil {
		return nil, err
	}
	var v verdict
	if rep.Status != executor.Done || rep.As(&v) != nil {
		return nil, sc.Note("the plan was not validated: %s: %s", rep.Status, rep.Reason)
	}
	if v.Valid {
		return nil, nil
	}
	if len(v.Problems) == 0 {
		v.Problems = []string{"the validator refuses it and does not say why"}
	}
	return v.Problems, nil
}
