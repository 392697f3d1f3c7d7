package pipeline

// What becomes of a step.
const (
	Done    = "done"
	Failed  = "failed"
	Skipped = "skipped"
)

var statuses = []string{Done, Failed, Skipped, ""}
