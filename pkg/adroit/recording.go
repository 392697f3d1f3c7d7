package adroit

import (
	"encoding/json"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/script"
	"github.com/adroit-run/adroit/pkg/secret"
)

// recorder keeps the turns of a job in a file, nil if nobody asked for it.
func recorder(j *jobs.Job, path string, hide *secret.Redactor, m ModelSource) (func(*llm.Request, *llm.Response) error, error) {
	if path == "" {
		return nil, nil
	}
	of := script.Recording{Job: j.ID, Model: j.Model}
	var in agents.Input
	if err := json.Unmarshal(j.Input, &in); err == nil {
		of.Window = in.Options.Window
	}
	if r, err := m.Recording(j.Model); err == nil && r != nil {
		of.Model = r.Model // a recording of a recording
	}
	r, err := script.Record(path, of, hide)
	if err != nil {
		return nil, &RecordError{Job: j.ID, Err: err}
	}
	return r.Keep, nil
}

// A RecordError reports that the file of a job's recording cannot be written.
type RecordError struct {
	Job string
	Err error
}

func (e *RecordError) Error() string { return e.Err.Error() }
func (e *RecordError) Unwrap() error { return e.Err }

// Hint names what helps.
func (e *RecordError) Hint() string {
	return "the job has the file from its --record; adroit jobs retry " + e.Job + " runs it again without"
}
