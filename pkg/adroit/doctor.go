package adroit

import "context"

// A Finding is one thing that was looked at on a machine.
type Finding struct {
	Name   string        `json:"name"`
	Status FindingStatus `json:"status"`
	What   string        `json:"what"`
	Do     string        `json:"do,omitempty"` // the remedy, if one is needed or useful
}

// A FindingStatus is how bad a finding is.
type FindingStatus string

// Statuses of findings.
const (
	Fine    FindingStatus = "fine"
	Lacking FindingStatus = "missing" // something that only some jobs need
	Broken  FindingStatus = "broken"  // no job can run
	Note    FindingStatus = "note"
)

// ExamineModels reports which models can be asked.
func (rt *Runtime) ExamineModels(ctx context.Context) []Finding {
	c, err := rt.modelCatalog()
	if err != nil {
		return nil
	}
	return c.Examine(ctx)
}
