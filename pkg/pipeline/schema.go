package pipeline

import (
	"encoding/json"

	"github.com/adroit-run/adroit/pkg/agents"
)

// FileSchema is the JSON Schema of a pipeline's file, so that editors can
// complete it. An agent that is written out has the keys of an agent file's
// front matter, and prompt.
func FileSchema() []byte {
	type m = map[string]any
	str := func(about string) m { return m{"type": "string", "description": about} }
	whole := func(about string, least, most int) m {
		return m{"type": "integer", "minimum": least, "maximum": most, "description": about}
	}
	object := func(about string, props m) m {
		return m{"type": "object", "description": about, "properties": props, "additionalProperties": false}
	}
	ref := func(name, about string) m { return m{"$ref": "#/$defs/" + name, "description": about} }
	either := func(about string, of ...m) m { return m{"description": about, "anyOf": of} }
	templates := func(about string) m { return m{"type": "object", "description": about, "additionalProperties": true} }
	id := m{"type": "string", "pattern": idRule.String()}

	var agent struct {
		Properties m `json:"properties"`
		Defs       m `json:"$defs"`
	}
	if err := json.Unmarshal(agents.FileSchema(), &agent); err != nil {
		panic(err) // it is made here
	}
	agent.Properties["prompt"] = str("What the model is told: a Go template, as below the front matter of an agent's file.")
	limits := agent.Properties["limits"]

	step := object("A step: an id, exactly one of agent, run, tool, check, await, pipeline and parallel, and what goes with it.", m{
		"id":   m{"type": "string", "pattern": idRule.String(), "description": "Its name in jumps, conditions and {{steps.ID.output}}."},
		"name": str("What people call it."),

		"agent": either("An agent, by name or written out.", m{"type": "string"}, m{"$ref": "#/$defs/agent"}),
		"run":   str("A command line, run by the tool shell under its rules and in its sandbox. No values are put into it."),
		"tool":  str("A tool that is called with args."),
		"check": m{"$ref": "#/$defs/criterion/properties/check", "description": "What must hold, in the form that an agent's done has it, or the step fails. Instead of tool or run."},
		"await": either("A signal that is waited for, as in answer.", id, object("What is waited for.", m{
			"signal": m{"type": "string", "pattern": idRule.String(), "description": "Its name, for adroit signal."}, "question": str("What the person is asked; a template."),
		})),
		"pipeline": str("Another pipeline, as one step."),
		"parallel": m{"type": "array", "minItems": 1, "items": m{"$ref": "#/$defs/step"}, "description": "Steps that run at once; all finish."},

		"input":     str("A template: what the agent is asked, or the {{input}} of the pipeline."),
		"inputs":    templates("Declared inputs of the agent or the pipeline, by name; texts are templates."),
		"args":      templates("Arguments of the tool; texts are templates, and one that is a single {{value}} becomes that value."),
		"output":    m{"type": "string", "pattern": varRule.String(), "description": "The variable that gets the output."},
		"worktree":  m{"type": "boolean", "description": "The agent works in a copy of the work tree; what it changed is brought back when it is done, and a conflict with what others have changed fails the step."},
		"model":     str("provider/model or a role, instead of the agent's."),
		"limits":    limits,
		"when":      ref("condition", "The step is skipped unless this holds."),
		"needs":     m{"type": "array", "items": id, "description": "Steps that must be done; else this one is skipped."},
		"timeout":   str("Of one attempt, as in 10m. What is under way then is ended."),
		"retries":   either("Attempts after the first, if that fails.", whole("How many.", 0, maxRetries), object("How many, and how long between them.", m{"attempts": whole("How many.", 1, maxRetries), "backoff": str("Before the first of them, as in 10s; doubled for each further one.")})),
		"until":     ref("condition", "The step is run again until this holds; needs max."),
		"max":       whole("Runs of the step, by until and by jumps back to it. Retries are not counted.", 1, maxMaxSteps),
		"onSuccess": str("The id of the step that is next, or end; else the one below."),
		"onFailure": str("The id of the step that is next, or stop, continue or recovery; else what the pipeline says."),
	})
	step["required"] = []string{"id"}
	condition := object("A condition: var or step with one of is, not and where; or all or any alone.", m{
		"var":   str("A variable, dotted into JSON as in plan.size."),
		"step":  str("A step; its value is done, failed or skipped, and empty as long as it has not run."),
		"is":    m{"description": "It is this."},
		"not":   m{"description": "It is anything but this."},
		"where": m{"type": "object", "description": "It satisfies this JSON Schema."},
		"all":   m{"type": "array", "minItems": 1, "items": m{"$ref": "#/$defs/condition"}, "description": "All of these hold."},
		"any":   m{"type": "array", "minItems": 1, "items": m{"$ref": "#/$defs/condition"}, "description": "One of these holds."},
	})
	recovery := object("The agent, and how often it may order one more attempt at a step.", m{
		"agent":    either("An agent, by name or written out.", m{"type": "string"}, m{"$ref": "#/$defs/agent"}),
		"model":    str("provider/model or a role, instead of the agent's."),
		"attempts": whole("Attempts that it may order for one run of a step; 1 unless given.", 1, maxRetries),
	})
	recovery["required"] = []string{"agent"}

	doc := object("A pipeline of adroit.", m{
		"name":        m{"type": "string", "pattern": nameRule.String(), "description": "Its name; the file's name if left out."},
		"description": str("What it is for, in a sentence."),
		"inputs":      agent.Properties["inputs"],
		"variables":   m{"type": "object", "propertyNames": m{"pattern": varRule.String()}, "description": "Values that variables have at the beginning."},
		"defaults": object("Hold for steps that do not say otherwise.", m{
			"model":  str("Of agents that name none."),
			"limits": limits,
			"context": object("How much of earlier outputs a template puts in, in bytes; what is longer keeps its head and its tail.", m{
				"each": whole("Of one value; 8192 unless given.", 1, maxFile), "all": whole("Of all values in one step together; 32768 unless given.", 1, maxFile),
			}),
		}),
		"limits": object("What all steps may take together.", m{
			"tokens":   whole("Tokens, in and out.", -1, 1<<40),
			"cost_usd": m{"type": "number", "minimum": -1, "description": "US dollars, if the models have prices."},
			"time":     str("Time spent working, as in 2h."),
		}),
		"onFailure": m{"enum": Policies, "description": "What happens when a step has failed: stop, which is the default; continue with the next; recovery, which asks an agent."},
		"recovery":  either("The agent that is asked under the policy recovery.", m{"type": "string"}, recovery),
		"max_steps": whole("Runs of steps in all; 100 unless given.", 1, maxMaxSteps),
		"steps":     m{"type": "array", "minItems": 1, "maxItems": maxSteps, "items": m{"$ref": "#/$defs/step"}, "description": "The steps, in order."},
	})
	doc["$schema"], doc["title"], doc["required"] = "https://json-schema.org/draft/2020-12/schema", "adroit pipeline", []string{"steps"}
	inline := object("An agent, written out.", agent.Properties)
	defs := m{"step": step, "condition": condition, "agent": inline}
	for name, def := range agent.Defs {
		defs[name] = def
	}
	doc["$defs"] = defs
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic(err) // maps and strings always encode
	}
	return append(b, '\n')
}
