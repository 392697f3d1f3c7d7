package openai

import (
	"slices"

	"github.com/adroit-run/adroit/pkg/llm"
)

// Thinks is how a server is told how much to think: the field that says it.
// Empty says that it has none.
type Thinks string

const (
	ThinksEffort   Thinks = "reasoning_effort"
	ThinksObject   Thinks = "reasoning"            // an object with effort in it
	ThinksTemplate Thinks = "chat_template_kwargs" // what the model's template makes of it
)

// value is what stands in the field.
func (t Thinks) value(e llm.Effort) any {
	switch t {
	case ThinksObject:
		return map[string]any{"effort": e}
	case ThinksTemplate:
		return map[string]any{"reasoning_effort": e, "enable_thinking": e != llm.EffortLow}
	}
	return e
}

// Effort says why a model of the dialect cannot be told how much to think, ""
// if it can.
func (d *Dialect) Effort(model string) string {
	switch {
	case d.Thinks == "":
		return "the server has no field for it"
	case len(d.Newer) > 0 && !d.newer(model):
		return "the model is not one that thinks"
	}
	return ""
}

// still reports whether thinking is turned off for the sake of a schema.
func (d *Dialect) still() bool {
	_, template := d.WithFormat[string(ThinksTemplate)]
	_, effort := d.WithFormat[string(ThinksEffort)]
	return template || effort
}

// idle says why the effort of a request is not sent, "" if it is or none is
// asked for.
func (m *model) idle(req *llm.Request) string {
	d := &m.dialect
	why := d.Effort(req.Model)
	switch {
	case req.Options.Effort == "":
		return ""
	case why != "":
	case slices.Contains(m.quirks.of(req.Model), string(d.Thinks)):
		why = "the server refuses " + string(d.Thinks)
	case m.format(req) && d.still():
		why = "thoughts would come before the answer that a schema holds"
	default:
		return ""
	}
	return "effort " + string(req.Options.Effort) + " is left out: " + why
}
