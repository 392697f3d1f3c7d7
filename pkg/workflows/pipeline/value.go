package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
)

// text is a value as a prompt has it: text as it is, the rest as JSON.
func text(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	if string(v) == "null" {
		return ""
	}
	return string(v)
}

// headAndTail is s if it has at most n bytes, else its head and its tail with a note
// between them.
func headAndTail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, tail := strings.ToValidUTF8(s[:n*2/3], ""), strings.ToValidUTF8(s[len(s)-n/3:], "")
	return fmt.Sprintf("%s\n[… %d of %d bytes are left out here …]\n%s", head, len(s)-len(head)-len(tail), len(s), tail)
}

// into follows fields of JSON; path is for words.
func into(v json.RawMessage, fields []string, path string) (json.RawMessage, error) {
	for _, f := range fields {
		v = structured(v)
		if i, err := strconv.Atoi(f); err == nil {
			var list []json.RawMessage
			if json.Unmarshal(v, &list) == nil && list != nil {
				if i < 0 || i >= len(list) {
					return nil, fmt.Errorf("{{%s}}: there is no entry %s; it has %d", path, f, len(list))
				}
				v = list[i]
				continue
			}
		}
		var m map[string]json.RawMessage
		if json.Unmarshal(v, &m) != nil || m == nil {
			return nil, fmt.Errorf("{{%s}}: there is no field %s: the value is not a JSON object", path, f)
		}
		kid, ok := m[f]
		if !ok {
			return nil, fmt.Errorf("{{%s}}: there is no field %s%s", path, f, suggestion(f, m))
		}
		v = kid
	}
	return v, nil
}

// same compares values, not their spelling. Text that models wrote has space
// around it which nobody means.
func same(a, b json.RawMessage) bool {
	x, y := canonical(a), canonical(b)
	if bytes.Equal(x, y) {
		return true
	}
	// A number or a truth value may have come as text.
	return text(a) == text(b) && scalar(a) && scalar(b)
}

func scalar(v json.RawMessage) bool { return len(v) > 0 && v[0] != '{' && v[0] != '[' }

func canonical(v json.RawMessage) []byte {
	var x any
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	if d.Decode(&x) != nil {
		return v
	}
	b, err := json.Marshal(x)
	if err != nil {
		return v
	}
	return b
}

// structured is v, or what the text v holds if that is an object or a list: an
// agent without output: answers with text that may be JSON.
func structured(v json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(v, &s) != nil {
		return v
	}
	if t := bytes.TrimSpace([]byte(s)); len(t) > 0 && (t[0] == '{' || t[0] == '[') && json.Valid(t) {
		return t
	}
	return v
}

func brief(v json.RawMessage) string {
	s := string(v)
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return s
}

func quote(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always encode
	}
	return b
}

// A condition asks about one value: that of a variable, or what became of a
// step. One of Is, Not and Where is set beside Var or Step; or All or Any is
// alone.
type condition struct {
	Var   string          `json:"var,omitempty"`   // a variable, dotted into JSON as in plan.size
	Step  string          `json:"step,omitempty"`  // a step; its value is done, failed, skipped or "" if it has not run
	Is    json.RawMessage `json:"is,omitempty"`    // it equals this
	Not   json.RawMessage `json:"not,omitempty"`   // it does not equal this
	Where json.RawMessage `json:"where,omitempty"` // it satisfies this JSON Schema
	All   []condition     `json:"all,omitzero"`
	Any   []condition     `json:"any,omitzero"`
}

// holds judges c. why describes the failed part, for people.
func (c *condition) holds(look func(path string) (json.RawMessage, error)) (why string, err error) {
	switch {
	case c.All != nil:
		for i := range c.All {
			if why, err := c.All[i].holds(look); err != nil || why != "" {
				return why, err
			}
		}
		return "", nil
	case c.Any != nil:
		for i := range c.Any {
			if why, err = c.Any[i].holds(look); err != nil || why == "" {
				return "", err
			}
		}
		return why, nil
	}
	path := c.path()
	v, err := look(path)
	if err != nil {
		return "", err
	}
	switch {
	case c.Is != nil && !same(v, c.Is):
		return fmt.Sprintf("%s is %s, not %s", path, brief(v), brief(c.Is)), nil
	case c.Not != nil && same(v, c.Not):
		return fmt.Sprintf("%s is %s", path, brief(v)), nil
	case c.Where != nil:
		schema, err := schema.Compile(c.Where)
		if err != nil {
			return "", fmt.Errorf("the schema about %s cannot be used: %w", path, err)
		}
		if faults := schema.Validate(structured(v)); len(faults) > 0 {
			return fmt.Sprintf("%s: %s", path, faults[0]), nil
		}
	}
	return "", nil
}

// path returns the condition's subject, as a template would name it.
func (c *condition) path() string {
	if c.Step != "" {
		return "steps." + c.Step + ".status"
	}
	return c.Var
}

// each calls f for c and its parts.
func (c *condition) each(key string, f func(key string, c *condition)) {
	if c == nil {
		return
	}
	f(key, c)
	for i := range c.All {
		c.All[i].each(fmt.Sprintf("%s.all.%d", key, i), f)
	}
	for i := range c.Any {
		c.Any[i].each(fmt.Sprintf("%s.any.%d", key, i), f)
	}
}

// Pinned is a pipeline as a job runs it, with all that it names by value.
type Pinned struct {
	Pipeline *Pipeline     `json:"pipeline"`
	Task     executor.Task `json:"task"` // with the tools of its steps, and their agents to spawn
	// Models lists the models that a recovery may change to.
	Models []string `json:"models,omitempty"`
}

// UnmarshalJSON reads what a job has kept.
func (p *Pinned) UnmarshalJSON(b []byte) error {
	type plain Pinned
	kept := struct {
		*plain
		Pipeline json.RawMessage `json:"pipeline"`
	}{plain: (*plain)(p)}
	if err := stored.Decode(b, &kept); err != nil {
		return err
	}
	return strict(kept.Pipeline, &p.Pipeline)
}

// pinning is the kind of the first step of every pipeline's job. From there on
// the job does not depend on any file.
const pinning = "pin"

// Routes performs "pin" steps with pin, which looks the pipeline up, checks it
// with [Pin] and resolves its task. It is called once in the life of a job.
func Routes(pin func(ctx context.Context, in agents.Input) (Pinned, error)) flow.Mux {
	return flow.Mux{pinning: {
		Safe: flow.Always,
		Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			var in agents.Input
			if err := json.Unmarshal(s.Input, &in); err != nil {
				return nil, fmt.Errorf("pipeline %s: decoding input: %w", s.Name, err)
			}
			got, err := pin(ctx, in)
			if err != nil {
				return nil, err
			}
			return json.Marshal(got)
		},
		Describe: func(_ flow.Step, out json.RawMessage) (string, json.RawMessage) {
			var got Pinned
			if json.Unmarshal(out, &got) != nil || got.Pipeline == nil {
				return "", nil
			}
			return fmt.Sprintf("%s with %d steps", got.Pipeline.Name, len(got.Pipeline.Steps)), nil
		},
	}}
}

// Workflow runs a pipeline. Its input is an agents.Input, its output an
// executor.State, whose artifact "pipeline" is the [Result].
var Workflow = stored.Define("pipeline", func(r *flow.Run, in agents.Input) (*executor.State, error) {
	pin, err := stored.Do[Pinned](r, pinning, in.Pipeline, in)
	if err != nil {
		return nil, err
	}
	if err := stored.Unknown("its revision", strconv.Itoa(pin.Task.Revision), pin.Task.Revision <= turn.Revision); err != nil {
		return nil, err
	}
	return flow.Call(r, in.Pipeline, runPipeline, job{pin, in})
})

type job struct {
	Pinned
	in agents.Input
}

// take gives the declared inputs their values, else their defaults.
func (x *run) take(given map[string]json.RawMessage) {
	for _, f := range x.p.Inputs {
		v, ok := given[f.Name]
		if !ok {
			v = f.Default
		}
		if v == nil {
			v = quote("")
		}
		x.vars[f.Name] = v
	}
}

func runPipeline(r *flow.Run, j job) (*executor.State, error) {
	sc := executor.NewScope(r, j.Task)
	x := &run{p: j.Pipeline, sc: sc, models: j.Models, input: quote(j.in.Prompt), vars: map[string]json.RawMessage{}}
	x.take(j.in.Inputs)
	res, output, err := x.all()
	if berr := sc.Bind("pipeline", res); berr != nil {
		return sc.State, berr
	}
	sc.State.Last = text(output)
	s, err := sc.Finish(err)
	if s.Outcome != nil && s.Outcome.Status == executor.Done {
		s.Outcome.Reason = res.Reason
	}
	if s.Outcome != nil && s.Outcome.Summary == "" {
		s.Outcome.Summary = s.Last
	}
	s.Attribute(j.Task.Model)
	return s, err
}
