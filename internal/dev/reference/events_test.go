package reference

import (
	"fmt"
	"go/ast"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// kinds describes for each kind of event when it is emitted and what it contains.
var kinds = []word{
	{"job.queued", "More jobs are started than may run at once: this one waits for a place. `data` has its `position`, from 1, and `at_once`; the event comes again when the position changes."},
	{"job.started", "A runner took the job. `text` is `started` or `resumed`; `data` has `workflow`, `agent`, `model`, `dir`, `title` and `resumed`."},
	{"job.finished", "The last event of a job. `data` is the outcome, below; `text` its reason."},
	{"job.waiting", "The last event of a run that waits for a person and ended meanwhile. `data` is the outcome, below, with `waiting`; `adroit answer signal` answers, `adroit continue` goes on."},
	{"step.started", "A step is about to be performed: `path`, `step` and `name` say which. No `data`."},
	{"step.finished", "`text` is a line for people, `took_ns` the time, `error` why it failed. `data` of a `model` step: `text`, `calls` (names of tools), `notes`, `stop` and `usage`; of a `tool` step: `args`, `failed`, `refused` if the call was not made, `text`, cut after 4 KB, and the `diff` of a file that `write_file` has replaced, cut after 8 KB; of a `compact` step: `before` and `after` (tokens), `dropped` and `shortened` (results), `turns` (that notes stand for), `model`, `usage` and, if its summary was not used, `poor`; all of these with `cost_usd` if the model has a price, and `spent`, what was paid other models within the step; of a signal received: what it carried."},
	{"step.retried", "An attempt failed and another follows. `error` says why, `text` which attempt and when. `data.waiting` is set where the host has run out of something and is waited for, which is reported once: `open_files`, `processes`, `memory`, `disk_space` or `database`."},
	{"step.recalled", "The step was done before the run was stopped; what it returned is used again. `data` has what counts in accounts, for those who did not get to see the step's end: `usage`, `spent` and `cost_usd` of a step that asked a model, `text` and `data` of `agent.finished`, `kind` and `data` of an event of a pipeline. Steps whose end the log has already, and those that count for nothing, share one event without `step`: its `data` has how many they are, `steps`, and the paths `from` and `to`."},
	{"delta", "`text` is a piece of a model's answer as it arrives; with `data.thinking`, of its thinking; with `step` tool, what the tool is doing; there `data.command` marks the command of `shell`, and `data.output` pieces of the first 16 KB that it prints. Never kept: `--deltas` prints it, `--json` alone does not, and a Go program that follows a job live sees it: all pieces, between the `step.started` and the `step.finished` of their step, if it started the job with `StartOptions.Live`. Only the process that runs the job has it: `adroit jobs logs -f` shows none. The whole answer follows in `step.finished`."},
	{"note", "`text` is something worth knowing about the step or the run, with `error` if it went wrong. `data.waiting` as of `step.retried`. No other `data`, except of workflows that report with some: of a validation `stage`, `status`, `attempt`, `error`, `usage`."},
	{"approval", "A person is asked. `data` of a tool call: `tool`, `args` and `needs`, exactly what will run. `path` is part of the answer's name: `approve@PATH` or `deny@PATH`."},
	{"agent.started", "A sub-agent begins; `name` is the agent's, `text` the beginning of what it is asked. The steps below `path` are its own. No `data`."},
	{"agent.finished", "The sub-agent `name` has ended, `text` says how. `data`: `status`, `reason`, `summary`, `took_ns` and `below`, what it took with its own sub-agents: `agents`, `turns`, `calls`, `usage`, `cost_usd` and `used` (by model)."},
	{"answer", "Somebody has answered a question, or sent a signal early: `name` is the signal. `data`: `by` (the name of a token, or `owner`), `from` (an address, or host:pid of a process), `question` and `value`."},
	{"pipeline.started", "A pipeline begins; `text` is its name, `data` its steps."},
	{"pipeline.finished", "A pipeline has ended, `text` says how. `data` is its result, with a row for each run of a step."},
	{"pipeline.step.started", "The step `text` of a pipeline begins; `data` has its name, kind and agent."},
	{"pipeline.step.retried", "An attempt at the step `text` of a pipeline failed and another follows; `data` says why and when."},
	{"pipeline.step.finished", "The step `text` of a pipeline has ended; `data` is its row of the result."},
	{"pipeline.recovery", "An agent has decided about a failed step; `data` has its diagnosis and decision."},
	{"activity", "A model that works on its own (`cli/…`) did something during its step, by its own account: `text` is a line for people; `data` has `activity` (`session`, `tool.started`, `tool.finished`, `file.changed`, `warning`, `retry`, `usage` or `permission`) and, as it applies, `id`, `name`, `text`, `code` (of a command), `status` (`ok`, `error`, `denied` or `unknown`) and `usage`."},
}

// eventFields describes the fields of an event, by their JSON names.
var eventFields = []word{
	{"id", "Its number among the events of all jobs, in the order in which they were kept; only a reader of all jobs gets it"},
	{"seq", "Counts from 1 in each job, without gaps; missing in events that are not kept"},
	{"job", "The job's id"},
	{"path", "The step's place in the job, for ever the same; missing if the event is not about a step"},
	{"time", "RFC 3339"},
	{"kind", "Below"},
	{"step", "The step's kind: `model`, `tool`, …"},
	{"name", "The step's name: the tool's, the model's"},
	{"text", "For people"},
	{"error", "What went wrong"},
	{"code", "Of a step that failed, for programs: `interrupted`, `timed_out`, `panicked`, `failed`, or one of the step's own"},
	{"took_ns", "Nanoseconds"},
	{"data", "By kind, below"},
}

var final = []word{
	{"status", "`done`, `answered`, `planned`, `not_needed`, `failed`, `limit`, `stuck`, `not_needed_unproven`, `cannot_be_done`, `went_silent`, `cancelled`, `waiting`, `blocked` or `interrupted`, see ADR 14"},
	{"stopped", "One word: the limit that was reached (`turns`, `tokens`, `cost`, `time`), else the status"},
	{"reason", "A sentence"},
	{"code", "Of a failure, for programs"},
	{"met", "The criteria that hold"},
	{"unmet", "The criteria that do not, and why"},
	{"unchecked", "Those of both that neither passed nor failed"},
	{"summary", "The model's last words"},
	{"evidence", "What the checks said"},
	{"turns", "Answers of the model"},
	{"calls", "Tool calls"},
	{"agents", "Sub-agents, at all levels; what they took is in the figures"},
	{"parts", "Sub-agents, and steps of pipelines, each after the one it is in: `path` (where it began), `within` (the path of the part around it), `agent`, `step`, `model`, `status`, `reason`, `attempts`, `retries`, `took_ns`, `began`, `ended` and its `turns`, `calls`, `usage` and `cost_usd`, those of the parts in it included. At most 100"},
	{"more", "How many parts are not listed, the innermost"},
	{"own", "What the job took outside of its parts: `turns`, `calls`, `usage`, `cost_usd`. With the parts that are within no other it makes the job's figures"},
	{"usage", "Tokens: `in`, `out`, and `cached`, which is a part of `in`"},
	{"used", "The same by provider/model, where it was not one model alone: a job that fell back, tools that asked, summaries."},
	{"cost_usd", "US dollars, if the model has a price"},
	{"artifacts", "Names of what was produced; `adroit jobs artifacts ID NAME` prints one"},
	{"waiting", "What is asked: `path`, `signals` (any of them answers), `about`, `asked`"},
}

func TestEvents(t *testing.T) {
	var code []string
	for _, f := range source(t, "pkg/event") {
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				code = append(code, kindsOf(t, g)...)
			}
		}
	}
	if len(code) == 0 {
		t.Fatal("no event.Kind constants in pkg/event")
	}
	complete(t, "event", kinds, code)
	complete(t, "event field", eventFields, jsonNames(reflect.TypeFor[event.Event]()))
	complete(t, "outcome field", final, jsonNames(reflect.TypeFor[jobs.Final]()))

	var b strings.Builder
	table := func(title, of string, words []word) {
		fmt.Fprintf(&b, "\n## %s\n\n| %s | |\n|---|---|\n", title, of)
		for _, w := range words {
			fmt.Fprintf(&b, "| `%s` | %s |\n", w.name, cell(w.about))
		}
	}
	table("Fields", "field", eventFields)
	table("Kinds", "kind", kinds)
	table("The outcome", "field of `data`", final)
	hold(t, "events.md", strings.TrimLeft(b.String(), "\n"))
}

// kindsOf gives the values of the constants whose type is Kind.
func kindsOf(t *testing.T, g *ast.GenDecl) (out []string) {
	for _, s := range g.Specs {
		v := s.(*ast.ValueSpec)
		if id, ok := v.Type.(*ast.Ident); !ok || id.Name != "Kind" {
			continue
		}
		for _, e := range v.Values {
			lit, ok := e.(*ast.BasicLit)
			if !ok {
				t.Fatalf("a Kind is not a string literal: %v", v.Names)
			}
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, s)
		}
	}
	return out
}

func jsonNames(t reflect.Type) (out []string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(out, name)
	}
	return out
}
