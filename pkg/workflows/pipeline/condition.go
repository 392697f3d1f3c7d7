package pipeline

import (
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/internal/calling/schema"
)

// A Condition asks about one value: that of a variable, or what became of a
// step. One of Is, Not and Where is set beside Var or Step; or All or Any is
// alone.
type Condition struct {
	Var   string          `json:"var,omitempty"`   // a variable, dotted into JSON as in plan.size
	Step  string          `json:"step,omitempty"`  // a step; its value is done, failed, skipped or "" if it has not run
	Is    json.RawMessage `json:"is,omitempty"`    // it equals this
	Not   json.RawMessage `json:"not,omitempty"`   // it does not equal this
	Where json.RawMessage `json:"where,omitempty"` // it satisfies this JSON Schema
	All   []Condition     `json:"all,omitzero"`
	Any   []Condition     `json:"any,omitzero"`
}

// holds judges c. why is what does not hold, in words for people.
func (c *Condition) holds(look func(path string) (json.RawMessage, error)) (why string, err error) {
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

// path is what the condition asks about, as a template would name it.
func (c *Condition) path() string {
	if c.Step != "" {
		return "steps." + c.Step + ".status"
	}
	return c.Var
}

// each calls f for c and its parts.
func (c *Condition) each(key string, f func(key string, c *Condition)) {
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
