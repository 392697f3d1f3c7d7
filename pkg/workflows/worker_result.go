package workflows

// A Worked is what a worker has to report.
type Worked struct {
	Note     string   `json:"note"`     // what was done, in the model's words
	Planned  bool     `json:"planned"`  // the planner was asked
	Attempts int      `json:"attempts"` // at the implementation
	Asked    []string `json:"asked"`    // of the researcher
	Tests    Tested   `json:"tests"`    // at the end
	Repaired bool     `json:"mended"`   // tests or types failed at first
	Review   string   `json:"review"`   // the model on its own changes
	Commit   string   `json:"commit,omitempty"`

	part bool // of a task that others plan and review
}

const (
	mostTries   = 10
	turnsAtOnce = 40   // of the model, in one attempt
	longTask    = 2000 // bytes from which a task is planned in any case
)
