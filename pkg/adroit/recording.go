package adroit

import (
	"encoding/json"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/internal/llm/script"
	"github.com/adroit-run/adroit/internal/secret"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
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
		return nil, apierr.WithHint(err, "the job has the file from its --record; adroit jobs retry "+j.ID+" runs it again without")
	}
	return r.Keep, nil
}
