package pipeline

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// What becomes of a step.
const (
	statusDone    = "done"
	Failed        = "failed"
	statusSkipped = "skipped"
)

// statuses lists the statuses in conditions; a step that has not run has "".
var statuses = []string{statusDone, Failed, statusSkipped}

// A Result is the result of a pipeline: the artifact "pipeline" of its job.
type Result struct {
	Pipeline string `json:"pipeline"`
	Status   string `json:"status"` // of an executor.Outcome
	Reason   string `json:"reason,omitempty"`
	Within   bool   `json:"within,omitempty"` // another one
	Rows     []Row  `json:"steps"`            // in the order in which they were run
}

// A Row is the result of one run of a step.
type Row struct {
	ID        string        `json:"id"`
	Name      string        `json:"name,omitempty"`
	Kind      string        `json:"kind"`
	Agent     string        `json:"agent,omitempty"`
	Status    string        `json:"status"`
	Round     int           `json:"round,omitempty"`    // counts from 1 if the step was run more than once
	Attempts  int           `json:"attempts,omitempty"` // of the run, retries and recoveries included
	Error     string        `json:"error,omitempty"`
	Diagnosis string        `json:"diagnosis,omitempty"` // of the recovery agent
	Turns     int           `json:"turns,omitempty"`
	In        int           `json:"tokens_in,omitempty"`
	Out       int           `json:"tokens_out,omitempty"`
	Cost      float64       `json:"cost_usd,omitempty"`
	Took      time.Duration `json:"took_ns,omitempty"` // its work, waiting for people not counted
	Output    string        `json:"output,omitempty"`  // in part
	Rows      []Row         `json:"steps,omitempty"`   // of a group or a pipeline

	coordinator.Record // of the coordinator that is its policy
}

// why is the row's error, with what the recovery agent makes of it.
func (r *Row) why() string {
	if r.Diagnosis != "" {
		return r.Error + "; " + r.Diagnosis
	}
	return r.Error
}

// summary describes in a line how a pipeline went that is done.
func summary(rows []Row) string {
	var ok int
	var bad, left []string
	for i := range rows {
		switch rows[i].Status {
		case statusDone:
			ok++
		case Failed:
			bad = append(bad, rows[i].ID)
		default:
			left = append(left, rows[i].ID)
		}
	}
	out := fmt.Sprintf("%d of %d steps done", ok, len(rows))
	if bad != nil {
		out += ", failed: " + strings.Join(bad, ", ")
	}
	if left != nil {
		out += ", skipped: " + strings.Join(left, ", ")
	}
	return out
}

// mostOutput bounds the output in a row, in bytes.
const mostOutput = 1 << 10

// A record is a step's result for later steps.
type record struct {
	status    string
	output    json.RawMessage
	value     json.RawMessage // of a tool, for programs; nil if it has none
	err       string
	artifacts map[string]json.RawMessage
}

func (r record) field(name string) (json.RawMessage, error) {
	switch name {
	case "output":
		return r.output, nil
	case "value":
		if r.value == nil {
			return json.RawMessage("null"), nil
		}
		return r.value, nil
	case "status":
		return quote(r.status), nil
	case "error":
		return quote(r.err), nil
	case "artifacts":
		return json.Marshal(r.artifacts)
	}
	return nil, fmt.Errorf("a step has no %s", name)
}
