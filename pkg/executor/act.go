package executor

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Use is the input of a tool step: the arguments, and the artifacts that
// the tool consumes.
type Use struct {
	Args  json.RawMessage            `json:"args"`
	Given map[string]json.RawMessage `json:"given,omitempty"`
}

// A Reply is the output of a tool step.
type Reply struct {
	tools.Result
	Took time.Duration `json:"took_ns,omitempty"`
}

// A Question is what a person is asked before a tool runs: exactly what will
// run.
type Question struct {
	Tool  string          `json:"tool"`
	Args  json.RawMessage `json:"args"`
	Needs tools.Caps      `json:"needs"`
}

// act runs the calls of one answer: those that only read or think at once,
// the others in the order given, each seeing the effects of the one before.
// Replies come back in call order.
func act(r *flow.Run, t *Task, s *State, calls []llm.Call) ([]Reply, error) {
	replies := make([]Reply, len(calls))
	for i := 0; i < len(calls); {
		n := 0
		for i+n < len(calls) && t.pure(calls[i+n]) {
			n++
		}
		if n < 2 {
			reply, err := one(r, t, s, calls[i])
			if err != nil {
				return nil, err
			}
			replies[i] = reply
			i++
			continue
		}
		got, err := flow.Map(r, calls[i:i+n], func(r *flow.Run, c llm.Call) (Reply, error) { return one(r, t, s, c) })
		if err != nil {
			return nil, err
		}
		copy(replies[i:], got)
		i += n
	}
	return replies, nil
}

func (t *Task) tool(name string) *Tool {
	for i := range t.Tools {
		if t.Tools[i].Name == name {
			return &t.Tools[i]
		}
	}
	for i := range t.Checks {
		if t.Checks[i].Name == name {
			return &t.Checks[i]
		}
	}
	return nil
}

// pure reports whether the call may run beside others: it only reads or
// thinks, and its tool does not declare that it does more.
func (t *Task) pure(c llm.Call) bool {
	tool := t.tool(c.Name)
	return tool != nil && tool.Needs&^(tools.Read|tools.Think) == 0 && (tool.Effect == "" || tool.Effect == tools.Pure)
}

func refuse(format string, args ...any) Reply {
	return Reply{Result: tools.Result{Failed: true, Text: fmt.Sprintf(format, args...)}}
}

// one runs one call of the model, if it may. A tool that fails is news for
// the model, not the end of the run. A call that is refused is no step of its
// own, so that a note tells whoever watches.
func one(r *flow.Run, t *Task, s *State, c llm.Call) (Reply, error) {
	why, err := refusal(r, t, s, c)
	if err != nil {
		return Reply{}, err
	}
	if why == "" {
		return perform(r, t, s, c)
	}
	return refuse("%s", why), r.Note("%s refused: %s", c.Name, first(why))
}

// refusal says, in words for the model, why the call may not run; "" if it
// may.
func refusal(r *flow.Run, t *Task, s *State, c llm.Call) (string, error) {
	tool := t.tool(c.Name)
	switch {
	case tool == nil:
		return fmt.Sprintf("there is no tool %q%s; you have: %s", c.Name, tools.DidYouMean(c.Name, t.names()), strings.Join(t.names(), ", ")), nil
	case c.Malformed != "":
		return fmt.Sprintf("the call was not run: %s. Call %s again with valid JSON arguments.", c.Malformed, c.Name), nil
	}
	if lacks := t.missing(tool, s); lacks != nil {
		return fmt.Sprintf("%s needs %s first", c.Name, strings.Join(lacks, ", ")), nil
	}
	if t.Approve.asks(tool) {
		return approve(r, t, tool, c)
	}
	return "", nil
}

func (t *Task) names() (out []string) {
	for _, tool := range t.Tools {
		out = append(out, tool.Name)
	}
	return out
}

// approve asks a person. The signals carry the step's path, so that an answer
// covers this call and no other. It returns words for the model if the call
// may not run.
func approve(r *flow.Run, t *Task, tool *Tool, c llm.Call) (denied string, err error) {
	if t.Approve == ApproveNone {
		return "not run: nobody is there to approve it; find a way without " + c.Name, nil
	}
	yes, no := "approve@"+r.Next(), "deny@"+r.Next()
	sig, err := flow.AwaitAny(r, Question{c.Name, c.Args, tool.Needs}, t.Patience, yes, no)
	if se, ok := asStep(err); ok {
		return "not run: " + se.Message + "; find a way without it", nil
	}
	if err != nil || sig.Name == yes {
		return "", err
	}
	var why string
	if decode(sig.Value, &why) != nil || why == "" {
		why = "no reason given"
	}
	return "not run: denied by a person (" + why + ")", nil
}

// perform is the tool step itself.
func perform(r *flow.Run, t *Task, s *State, c llm.Call) (Reply, error) {
	use := Use{Args: c.Args}
	if tool := t.tool(c.Name); tool != nil {
		for _, name := range tool.Consumes {
			if use.Given == nil {
				use.Given = map[string]json.RawMessage{}
			}
			use.Given[name] = t.value(s, name)
		}
	}
	reply, err := flow.Do[Reply](r, "tool", c.Name, use)
	if se, ok := asStep(err); ok {
		if se.Code == flow.Interrupted {
			return refuse("%s was interrupted: it may or may not have happened. Look before you repeat it.", c.Name), nil
		}
		return refuse("%s could not be run: %s", c.Name, se.Message), nil
	}
	return reply, err
}

func decode(b []byte, v any) error { return json.Unmarshal(b, v) }
