package executor

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Turn is a workflow's request to the model in words.
type Turn struct {
	Prompt string
	// Act lets the model call the task's tools before it answers. Turns bounds
	// how often it is asked then; zero leaves that to the task's limits.
	Act   bool
	Turns int
	// Without names tools that the model does not get in this turn, with wildcards. If
	// the list differs from the list of the turn before, the server reads the whole
	// conversation again.
	Without []string
	// Refuse names tools that the model gets and may not call then, with
	// wildcards.
	Refuse []string
	// Apart asks in a conversation of its own: the model knows nothing of the
	// turns before, and those after know nothing of this one.
	Apart bool
	// Rejects bounds how often an answer that does not fit is sent back with an
	// explanation. Zero means once, -1 never.
	Rejects int
}

// AITurn asks the task's model and returns its answer as an Out: a struct, whose schema
// constrains the model, or a string, which is any text. The turns of a scope are one
// conversation. An answer that does not fit is sent back; repeated misfits, or a limit, are a
// *StopError, which a workflow may handle.
func AITurn[Out any](sc *Scope, req Turn) (Out, error) {
	var out Out
	var output json.RawMessage
	if reflect.TypeFor[Out]().Kind() != reflect.String {
		schema, err := schema.Infer[Out]()
		if err != nil {
			return out, fmt.Errorf("an answer of type %T: %w", out, err)
		}
		output = schema.JSON()
	}
	text, err := sc.turn(req, output)
	if err != nil {
		return out, err
	}
	if output == nil {
		reflect.ValueOf(&out).Elem().SetString(string(text))
		return out, nil
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return out, fmt.Errorf("decoding the answer as %T: %w", out, err)
	}
	return out, nil
}

// limitTools narrows the tools of t, a copy, to the turn's. offered reports whether the
// conversation has tools already: they stay in it.
func (t *Task) limitTools(req Turn, offered bool) {
	without := req.Without
	if t.Revision == 0 {
		without = slices.Concat(without, req.Refuse)
	} else {
		t.turn = turnTools{none: !req.Act && offered, refuse: req.Refuse}
	}
	if t.Tools = slices.Clone(t.Tools); !req.Act && !t.turn.none {
		t.Tools = nil
	}
	t.Tools = slices.DeleteFunc(t.Tools, func(tool Tool) bool { return matches(without, tool.Name) })
}

// turn has one turn, which resumes by replaying at most one request.
func (sc *Scope) turn(req Turn, output json.RawMessage) (json.RawMessage, error) {
	s, t := sc.State, *sc.Task
	t.Messages = t.Messages && t.Revision < turn.ChangesByPath // a workflow decides what its agents are asked
	if err := sc.withinLimits(); err != nil {
		return nil, err
	}
	t.Done, t.PlanOnly, t.Output = Criterion{}, false, output
	t.Limits.Rejects = req.Rejects
	if req.Rejects == 0 {
		t.Limits.Rejects = 1
	}
	if req.Turns > 0 {
		if l := t.Limits.Or(DefaultLimits); l.Turns <= 0 || s.Turns+req.Turns < l.Turns {
			t.Limits.Turns = s.Turns + req.Turns
		}
	}
	t.limitTools(req, s.OfferedTools != "" && !req.Apart)
	if output != nil {
		how := "Answer with JSON and nothing else"
		if req.Act && t.Revision >= 8 {
			how += ", which may stand beside your last changes"
		}
		form := "it satisfies"
		if t.Revision >= turn.SharedRoom {
			form = "it has the form of this schema:"
		}
		req.Prompt += fmt.Sprintf("\n\n%s; %s %s", how, form, output)
	}
	before := *s
	prior, had := s.Artifacts["output"] // the map is the same before and after
	if req.Apart {
		s.Head, s.New, s.OfferedTools, s.Context, s.Notes, s.Shown = "", nil, "", turn.Usage{}, nil, nil
	}
	s.Rejects, s.Empty, s.Recent, s.LastReminder, s.Failing, s.Warned = 0, 0, nil, 0, nil, nil
	r, err := sc.Run.Part("turn")
	if err != nil {
		return nil, err
	}
	now := new(State)
	resumed, err := now.load(r)
	switch {
	case err != nil:
		return nil, err
	case resumed:
		*s = *now
	default:
		if s.Head == "" && len(s.New) == 0 && t.System != "" {
			s.New = []llm.Message{{Role: llm.System, Text: t.System}}
		}
		s.Asked = []llm.Message{{Role: llm.User, Text: req.Prompt}}
		s.New = append(s.New, s.Asked...)
	}
	if err := run(r, &t, s); err != nil {
		return nil, err
	}
	o, value := s.Outcome, s.Value("output")
	if output != nil {
		s.Last = before.Last // it is for the program, nobody's last words
	}
	if t.Revision >= turn.NamesWhole {
		s.New = s.withoutWrapUp()
	}
	s.Outcome, s.WrapUp, s.Claim, s.RequireCall = nil, nil, nil, false
	if had {
		s.Artifacts["output"] = prior
	} else {
		delete(s.Artifacts, "output")
	}
	if req.Apart {
		s.Head, s.New, s.OfferedTools, s.Context, s.Notes, s.Shown = before.Head, before.New, before.OfferedTools, before.Context, before.Notes, before.Shown
	}
	switch {
	case !o.Succeeded():
		return nil, &StopError{*o}
	case output == nil:
		return json.RawMessage(s.Last), nil
	}
	return value, nil
}
