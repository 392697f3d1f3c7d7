package pipeline

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

var update = flag.Bool("update", false, "write the schema anew")

// TestFileSchema wants the schema that ships to be that of the reader; go test ./pkg/workflows/pipeline
// -run TestFileSchema -update writes it.
func TestFileSchema(t *testing.T) {
	dirtest.Golden(t, *update, "../../../configs/schemas/pipeline.json", fileSchema(t))
}

type schemaMap = map[string]any

func schemaText(about string) schemaMap { return schemaMap{"type": "string", "description": about} }

func schemaCount(about string, least, most int) schemaMap {
	return schemaMap{"type": "integer", "minimum": least, "maximum": most, "description": about}
}

func schemaObject(about string, props schemaMap) schemaMap {
	return schemaMap{"type": "object", "description": about, "properties": props, "additionalProperties": false}
}

func schemaRef(name, about string) schemaMap {
	return schemaMap{"$ref": "#/$defs/" + name, "description": about}
}

func schemaEither(about string, of ...schemaMap) schemaMap {
	return schemaMap{"description": about, "anyOf": of}
}

func schemaValues(about string) schemaMap {
	return schemaMap{"type": "object", "description": about, "additionalProperties": true}
}

// fileSchema is the JSON Schema of a pipeline's file, so that editors can
// complete it. An agent that is written out has the keys of an agent file's
// front matter, and prompt.
func fileSchema(t *testing.T) []byte {
	type m = schemaMap
	var agent struct {
		Properties m `json:"properties"`
		Defs       m `json:"$defs"`
	}
	b, err := os.ReadFile("../../../configs/schemas/agent.schema.json")
	if err == nil {
		err = json.Unmarshal(b, &agent)
	}
	if err != nil {
		t.Fatal(err)
	}
	agent.Properties["prompt"] = schemaText("The model's prompt: a Go template, as below the front matter of an agent's file.")
	limits := agent.Properties["limits"]
	doc := schemaObject("A pipeline of adroit.", m{
		"name":        m{"type": "string", "pattern": nameRule.String(), "description": "Its name; the file's name if left out."},
		"description": schemaText("What it is for, in a sentence."),
		"inputs":      agent.Properties["inputs"],
		"variables":   m{"type": "object", "propertyNames": m{"pattern": varRule.String()}, "description": "Values that variables have at the beginning."},
		"defaults": schemaObject("Hold for steps that do not say otherwise.", m{
			"model":  schemaText("Of agents that name none."),
			"limits": limits,
			"context": schemaObject("How much of earlier outputs a template puts in, in bytes; what is longer keeps its head and its tail.", m{
				"each": schemaCount("Of one value; 8192 unless given.", 1, MaxFile), "all": schemaCount("Of all values in one step together; 32768 unless given.", 1, MaxFile),
			}),
		}),
		"limits": schemaObject("What all steps may take together.", m{
			"tokens":   schemaCount("Tokens, in and out.", -1, 1<<40),
			"cost_usd": m{"type": "number", "minimum": -1, "description": "US dollars, if the models have prices."},
			"time":     schemaText("Time spent working, as in 2h."),
		}),
		"onFailure": schemaEither("What happens when a step has failed: stop, which is the default; continue with the next; recovery, which asks an agent; coordinate, which has what a command complains about repaired.", m{"enum": policies}, coordinateSchema()),
		"recovery":  schemaEither("The agent that is asked under the policy recovery.", m{"type": "string"}, recoverySchema()),
		"max_steps": schemaCount("Runs of steps in all; 100 unless given.", 1, maxMaxSteps),
		"steps":     m{"type": "array", "minItems": 1, "maxItems": maxSteps, "items": m{"$ref": "#/$defs/step"}, "description": "The steps, in order."},
	})
	doc["$schema"], doc["title"], doc["required"] = "https://json-schema.org/draft/2020-12/schema", "adroit pipeline", []string{"steps"}
	inline := schemaObject("An agent, written out.", agent.Properties)
	defs := m{"step": stepSchema(limits), "condition": conditionSchema(), "agent": inline}
	maps.Copy(defs, agent.Defs)
	doc["$defs"] = defs
	b, err = json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

// stepSchema describes a step, whose limits are those of an agent.
func stepSchema(limits any) schemaMap {
	type m = schemaMap
	id := m{"type": "string", "pattern": idRule.String()}
	step := schemaObject("A step: an id, exactly one of agent, run, tool, check, await, pipeline and parallel, and what goes with it.", m{
		"id":   m{"type": "string", "pattern": idRule.String(), "description": "Its name in jumps, conditions and {{steps.ID.output}}."},
		"name": schemaText("What people call it."),

		"agent": schemaEither("An agent, by name or written out.", m{"type": "string"}, m{"$ref": "#/$defs/agent"}),
		"run":   schemaText("A command line, run by the tool shell under its rules and in its sandbox. No values are put into it."),
		"tool":  schemaText("A tool that is called with args."),
		"check": m{"$ref": "#/$defs/criterion/properties/check", "description": "What must hold, in the form that an agent's done has it, or the step fails. Instead of tool or run."},
		"await": schemaEither("A signal that is waited for, as in answer.", id, schemaObject("What is waited for.", m{
			"signal": m{"type": "string", "pattern": idRule.String(), "description": "Its name, for adroit answer signal."}, "question": schemaText("What the person is asked; a template."),
		})),
		"pipeline": schemaText("Another pipeline, as one step."),
		"parallel": m{"type": "array", "minItems": 1, "items": m{"$ref": "#/$defs/step"}, "description": "Steps that run at once; all finish."},

		"input":       schemaText("A template: what the agent is asked, or the {{input}} of the pipeline."),
		"inputs":      schemaValues("Declared inputs of the agent or the pipeline, by name; texts are templates."),
		"args":        schemaValues("Arguments of the tool; texts are templates, and one that is a single {{value}} becomes that value."),
		"output":      m{"type": "string", "pattern": varRule.String(), "description": "The variable that gets the output."},
		"mcp_servers": m{"type": "array", "items": m{"type": "string"}, "description": "Names of MCP servers whose tools the agent has besides."},
		"worktree":    m{"type": "boolean", "description": "The agent works in a copy of the work tree; what it changed is brought back when it is done, and a conflict with what others have changed fails the step."},
		"model":       schemaText("provider/model or a role, instead of the agent's."),
		"limits":      limits,
		"when":        schemaRef("condition", "The step is skipped unless this holds."),
		"needs":       m{"type": "array", "items": id, "description": "Steps that must be done; else this one is skipped."},
		"timeout":     schemaText("Of one attempt, as in 10m. What is under way then is ended."),
		"repeatable":  m{"type": "boolean", "description": "Running it twice does no harm: if the process dies meanwhile it is run again, and no person is asked. For run and tool."},
		"retries":     schemaEither("Attempts after the first, if that fails.", schemaCount("How many.", 0, maxRetries), schemaObject("How many, and how long between them.", m{"attempts": schemaCount("How many.", 1, maxRetries), "backoff": schemaText("Before the first of them, as in 10s; doubled for each further one.")})),
		"until":       schemaRef("condition", "The step is run again until this holds; needs max."),
		"max":         schemaCount("Runs of the step, by until and by jumps back to it. Retries are not counted.", 1, maxMaxSteps),
		"onSuccess":   schemaText("The id of the step that is next, or end; else the one below."),
		"onFailure":   schemaEither("The id of the step that is next, or stop, continue, recovery or coordinate; else what the pipeline says.", m{"type": "string"}, coordinateSchema()),
	})
	step["required"] = []string{"id"}
	return step
}

// conditionSchema describes a condition of when and until.
func conditionSchema() schemaMap {
	type m = schemaMap
	return schemaObject("A condition: var or step with one of is, not and where; or all or any alone.", m{
		"var":   schemaText("A variable, dotted into JSON as in plan.size."),
		"step":  schemaText("A step; its value is done, failed or skipped, and empty as long as it has not run."),
		"is":    m{"description": "It is this."},
		"not":   m{"description": "It is anything but this."},
		"where": m{"type": "object", "description": "It satisfies this JSON Schema."},
		"all":   m{"type": "array", "minItems": 1, "items": m{"$ref": "#/$defs/condition"}, "description": "All of these hold."},
		"any":   m{"type": "array", "minItems": 1, "items": m{"$ref": "#/$defs/condition"}, "description": "One of these is met."},
	})
}

// coordinateSchema describes a coordinator as the policy of a step.
func coordinateSchema() schemaMap {
	type m = schemaMap
	own := schemaObject("A coordinator, with bounds.", m{"coordinate": schemaObject("Its bounds.", m{
		"attempts": schemaCount("Repairs and retries; 3 unless given.", 1, maxRetries),
		"escalate": m{"enum": []string{coordinator.Ask, coordinator.Report, coordinator.Never}, "description": "What a need for a person does: ask, which waits and is the default; report or never, which fail."},
		"wait":     schemaText("For the person's answer, as in 2h; 24h unless given."),
		"agents":   m{"type": "array", "items": m{"type": "string"}, "description": "Agents that may repair; all that name a type of problem unless given."},
		"keep":     m{"type": "boolean", "description": "Keep what a repair changed that did not help."},
		"memory":   m{"enum": []string{coordinator.On, coordinator.Off}, "description": "Use and keep what helped with the same failure before; the configuration says it unless given."},
		"supervise": m{"anyOf": []any{m{"type": "boolean"}, m{"type": "string"}},
			"description": "Have an agent review each repair and each decision of a model before it is carried out: true for fix-supervisor, or the agent's name."},
	})})
	own["required"] = []string{"coordinate"}
	return own
}

// recoverySchema describes the agent that is asked about failed steps.
func recoverySchema() schemaMap {
	type m = schemaMap
	recovery := schemaObject("The agent, and how often it may order one more attempt at a step.", m{
		"agent":    schemaEither("An agent, by name or written out.", m{"type": "string"}, m{"$ref": "#/$defs/agent"}),
		"model":    schemaText("provider/model or a role, instead of the agent's."),
		"attempts": schemaCount("Attempts that it may order for one run of a step; 1 unless given.", 1, maxRetries),
	})
	recovery["required"] = []string{"agent"}
	return recovery
}
