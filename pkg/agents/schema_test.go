package agents

import (
	"encoding/json"
	"flag"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/pkg/tools"
)

var update = flag.Bool("update", false, "write the schema anew")

// TestFileSchema wants the schema that ships to be that of the reader; go test ./pkg/agents
// -run TestFileSchema -update writes it.
func TestFileSchema(t *testing.T) {
	dirtest.Golden(t, *update, "../../configs/schemas/agent.schema.json", fileSchema())
}

// fileSchema is the JSON Schema of the front matter, so that editors can
// complete it. It describes our own format; the keys that only Claude Code
// has are read too, but not advertised.
func fileSchema() []byte {
	type m = map[string]any
	str := func(about string) m { return m{"type": "string", "description": about} }
	whole := func(about string) m { return m{"type": "integer", "minimum": -1, "description": about} }
	names := func(about string) m {
		return m{"description": about, "anyOf": []m{{"type": "array", "items": m{"type": "string"}}, {"type": "string"}}}
	}
	object := func(about string, props m) m {
		return m{"type": "object", "description": about, "properties": props, "additionalProperties": false}
	}
	var caps tools.Caps
	if err := caps.UnmarshalText([]byte("all")); err != nil {
		panic(err) // the word is built in
	}
	doc := object("An agent of adroit.", m{
		"name":           m{"type": "string", "pattern": nameRule.String(), "description": "Its name; the file's name if left out."},
		"description":    str("One sentence: when to use this agent."),
		"model":          str("provider/model, as in ollama/qwen3:8b, or a role of the configuration, as in cheap; else the default."),
		"default_prompt": str("What a run asks for that gives neither a prompt nor inputs. Without it such a run is refused."),
		"think_model":    str("The model for tools that ask one, named in the same way; else the role cheap, if there is one, else the agent's own."),
		"tools":          names("Names of tools, also with wildcards as in git_*. None for an agent that only answers."),
		"deny":           names("What to take from tools again."),
		"mcp_servers":    names("Names of MCP servers of the configuration whose tools it has besides."),
		"auto":           names("Extra tools in mode auto, if commands are sandboxed, as in shell. The grant has to allow them."),
		"skills":         names("Names of skills, also with wildcards as in release-*. Default: none. Adds the read_skill tool."),
		"mode":           m{"enum": []string{"plan", "edits", "auto"}, "description": "Narrows how far a job goes on its own: plan changes nothing, edits asks about commands, auto runs them in a sandbox."},
		"calling":        m{"enum": []string{"auto", "native", "constrained", "text"}, "description": "How its model calls tools; auto takes the first way that works."},
		"effort":         m{"enum": []string{"low", "medium", "high"}, "description": "How much its model thinks, if it has such a setting; else the model decides."},
		"memory":         m{"enum": memoryScopes, "description": "What it recalls of earlier jobs: facts of the project and the user's, or the user's alone. Adds the tools recall and remember."},
		"workflow":       str("The workflow that runs it, where code rather than a model decides what comes next; else the agent loop."),
		"permissions":    permissionsSchema(),
		"spawn": m{"description": "Which agents may work for it.", "anyOf": []m{
			names("Names of agents, also with wildcards."),
			object("Which, and how many.", m{
				"agents":   names("Names of agents, also with wildcards."),
				"problems": names("Types of problems: the agents that repair one of them are added; * is all."),
				"depth":    m{"type": "integer", "minimum": 1, "description": "Levels of agents below it; 1 if left out."},
				"fan_out":  m{"type": "integer", "minimum": 1, "description": "How many work at once; 8 if left out."},
				"total":    m{"type": "integer", "minimum": 1, "description": "How many there may be in a job, at all levels; 50 if left out."},
			}),
		}},
		"done": m{"$ref": "#/$defs/criterion", "description": "What must hold before a run is done; else it is when the model stops calling tools."},
		"limits": object("What a run may take at most; -1 means no limit.", m{
			"turns":    whole("Answers of the model."),
			"tokens":   whole("Tokens, in and out."),
			"cost_usd": m{"type": "number", "minimum": -1, "description": "US dollars, if the model has a price."},
			"time":     str("Time spent working, as in 30m."),
			"calls":    m{"type": "object", "description": "Calls of a tool, by its name, as in web_fetch: 20; more are refused.", "additionalProperties": m{"type": "integer", "minimum": 1}},
			"rejects":  whole("How often the model may say that it is done when it is not."),
		}),
		"capabilities":  names("What it is good at."),
		"problem_types": names("What it can repair."),
		"priority":      m{"type": "integer", "description": "Among agents for the same problem; more is tried first."},
		"inputs": m{"type": "object", "description": "What it takes besides the prompt.", "additionalProperties": m{"anyOf": []m{
			{"type": "string", "description": "What it is; the input is required."},
			object("An input.", m{"description": str("What it is."), "optional": m{"type": "boolean", "description": "It may be left out; it is empty then."}, "default": m{"description": "Makes it optional."}, "artifact": str("The artifact that its value is bound to, for tools; the prompt has it only where the template places it."), "bytes": m{"type": "integer", "minimum": 0, "description": "How much of a text the prompt has at most: head and tail, of a diff for each of its files."}}),
		}}},
		"grant": m{"description": "What its tools may need at most.", "anyOf": []m{
			{"type": "array", "items": m{"enum": caps.Names()}}, {"type": "string"}}},
		"aliases": names("Former names."),
		"expose":  m{"type": "boolean", "description": "Other programs may call it as a tool: adroit mcp serve."},
		"hidden":  m{"type": "boolean", "description": "Workflows and other agents call it: adroit agents list leaves it out without --all."},
		"output":  m{"type": "object", "description": "A JSON Schema that its last answer satisfies."},
		"options": object("Passed to the model.", m{
			"temperature": m{"type": "number", "minimum": 0, "maximum": 2, "description": "How freely the model chooses its words, from 0 to 2; else the server's default."},
			"max_tokens":  m{"type": "integer", "minimum": 0, "description": "Of one answer."},
			"window":      m{"type": "integer", "minimum": 0, "description": "Context window, where the client sets it."},
		}),
	})
	criterion := criterionSchema(str, object)
	criterion["minProperties"] = 1
	doc["$schema"], doc["$defs"] = "https://json-schema.org/draft/2020-12/schema", m{"criterion": criterion}
	doc["title"], doc["required"] = "adroit agent", []string{"description"}
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic(err) // maps and strings always encode
	}
	return append(b, '\n')
}

// criterionSchema describes a part of a definition of done.
func criterionSchema(str func(about string) map[string]any, object func(about string, props map[string]any) map[string]any) map[string]any {
	type m = map[string]any
	parts := func(about string) m {
		return m{"type": "array", "minItems": 1, "items": m{"$ref": "#/$defs/criterion"}, "description": about}
	}
	return object("A condition.", m{
		"signal":   str("The model called finish, or said this word on a line of its own."),
		"artifact": str("This artifact exists …"),
		"where":    m{"type": "object", "description": "… and satisfies this JSON Schema."},
		"tool":     str("This tool was called with success."),
		"check": m{"description": "Run by adroit itself, this succeeds: a tool, a tool with arguments, or a command.", "anyOf": []m{
			{"type": "string", "description": "A tool that judges, without arguments, as in run_tests."},
			object("A tool with arguments.", m{"tool": str("Its name."), "with": m{"type": "object", "description": "Its arguments."}}),
			object("A command.", m{"run": str("The command line, which the tool shell runs: under your permissions, in the sandbox.")}),
		}},
		"when":       m{"$ref": "#/$defs/criterion", "description": "Beside the others: they must hold only if this does, an artifact or a tool, as in {artifact: diff}: if a file was changed."},
		"if_missing": m{"$ref": "#/$defs/criterion", "description": "Beside check: what must hold instead where there was nothing to check when the job began, such as no tests. Without it the job ends, stuck."},
		"all":        parts("All of these hold."),
		"any":        parts("One of these is met."),
	})
}

// permissionsSchema describes permissions: in an agent file.
func permissionsSchema() map[string]any {
	type m = map[string]any
	str := func(about string) m { return m{"type": "string", "description": about} }
	return m{
		"type": "array", "description": "Rules about what may run, beside those of your configuration; deny is stronger than ask, ask than allow. An agent of a project may not allow.",
		"items": m{"type": "object", "additionalProperties": false, "required": []string{"do"}, "properties": m{
			"tool":    str("A tool's name, with wildcards; all if left out."),
			"path":    str("A glob of workspace paths, as in docs/**."),
			"command": str("The words of a simple command; a last * stands for more, as in go test *."),
			"do":      m{"enum": []string{"allow", "ask", "deny"}},
			"why":     str("What the model and the person who is asked see."),
			"source":  str("project or client: of a server that a project's file or a client has brought. An allow rule without it holds for none of those."),
		}},
	}
}
