// Package event defines what a job tells the world about itself.
//
// Events are produced through a [Sink], kept in a numbered log (see pkg/jobs)
// and read back as a sequence. The command line, scripts that read --json and
// tests all see the same events. An event is a report, never a command:
// nothing in adroit decides anything by reading one.
package event

import (
	"encoding/json"
	"time"
)

// A Kind is the kind of an event. Kinds are part of the --json contract: they are added
// to, never renamed.
type Kind string

const (
	JobQueued     Kind = "job.queued" // it waits for a place among the jobs that run at once; Data is its position
	JobStarted    Kind = "job.started"
	JobFinished   Kind = "job.finished" // Data is the job's outcome; the last event of a job
	JobWaiting    Kind = "job.waiting"  // Data says what for; the last event of a run that parks
	StepStarted   Kind = "step.started"
	StepFinished  Kind = "step.finished" // Text is a one-line summary; Error is set if it failed
	StepRetried   Kind = "step.retried"  // an attempt failed and another follows; Error says why
	StepRecalled  Kind = "step.recalled" // replayed from the journal, not performed
	Delta         Kind = "delta"         // a piece of a model's answer, or of its thinking if Data says so; of a tool, what it is doing; never kept, may be lost
	Note          Kind = "note"
	AgentStarted  Kind = "agent.started"  // a sub-agent begins, in the scope that Path names
	AgentFinished Kind = "agent.finished" // Name has ended; Text says how, Data what it took
	Approval      Kind = "approval"       // a person is asked; Data is what exactly will run
	Answer        Kind = "answer"         // somebody sent the signal Name; Data is who, from where and what

	PipelineStarted  Kind = "pipeline.started"       // Text is its name, Data its steps
	PipelineFinished Kind = "pipeline.finished"      // Text says how, Data is the result with a row for each step
	StageStarted     Kind = "pipeline.step.started"  // Text is the step's id, Data its name, kind and agent
	StageRetried     Kind = "pipeline.step.retried"  // an attempt failed and another follows; Data says why and when
	StageFinished    Kind = "pipeline.step.finished" // Text is the step's id, Data the row of the result
	StageRecovery    Kind = "pipeline.recovery"      // what the recovery agent decides; Data is its diagnosis
)

// An Event is one thing that happened to a job. Path is the step's path, if it
// is about a step. Seq is assigned by the log, counts from 1 in each job and
// has no gaps; it is zero for events that are not kept. ID is its number among the events of
// all jobs of a store, in the order in which they were kept, with gaps; only readers
// of all jobs get it.
type Event struct {
	ID    int64           `json:"id,omitempty"`
	Seq   int64           `json:"seq,omitempty"`
	Job   string          `json:"job,omitempty"`
	Path  string          `json:"path,omitempty"`
	Time  time.Time       `json:"time"`
	Kind  Kind            `json:"kind"`
	Step  string          `json:"step,omitempty"` // the step's kind: model, tool, …
	Name  string          `json:"name,omitempty"` // the step's name: the tool's, the model's
	Text  string          `json:"text,omitempty"`
	Error string          `json:"error,omitempty"`
	Code  string          `json:"code,omitempty"` // of a step that failed: interrupted, timed_out, …
	Took  time.Duration   `json:"took_ns,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// A Sink takes events. It must be safe for concurrent use and must not block.
type Sink func(Event)
