package openai

import (
	"slices"

	"github.com/adroit-run/adroit/pkg/llm"
)

// An effortField is the field of a request that sets how much to think, "" for
// a server without one.
type effortField string

const (
	effortString   effortField = "reasoning_effort"
	effortObject   effortField = "reasoning"            // an object with effort in it
	effortTemplate effortField = "chat_template_kwargs" // what the model's template makes of it
)

// value is what stands in the field.
func (t effortField) value(e llm.Effort) any {
	switch t {
	case effortObject:
		return map[string]any{"effort": e}
	case effortTemplate:
		return map[string]any{"reasoning_effort": e, "enable_thinking": e != llm.EffortLow}
	}
	return e
}

// Effort returns why a model of the dialect takes no effort, "" if it does.
func (d *Dialect) Effort(model string) string {
	switch {
	case d.effortField == "":
		return "the server has no field for it"
	case len(d.newModels) > 0 && !d.isNew(model):
		return "the model is not one that thinks"
	}
	return ""
}

// noThinking reports whether thinking is turned off for the sake of a schema.
func (d *Dialect) noThinking() bool {
	_, template := d.WithFormat[string(effortTemplate)]
	_, effort := d.WithFormat[string(effortString)]
	return template || effort
}

// effortOmitted is why the effort of a request is not sent, "" if it is or none is
// asked for.
func (m *model) effortOmitted(req *llm.Request) string {
	d := &m.dialect
	why := d.Effort(req.Model)
	switch {
	case req.Options.Effort == "":
		return ""
	case why != "":
	case slices.Contains(m.quirks.of(req.Model), string(d.effortField)):
		why = "the server refuses " + string(d.effortField)
	case m.format(req) && d.noThinking():
		why = "thoughts would come before the answer that a schema holds"
	default:
		return ""
	}
	return "effort " + string(req.Options.Effort) + " is left out: " + why
}
