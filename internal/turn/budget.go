package turn

// A Budget bounds what one request to the model may hold. It is pinned with
// the task; a task without one sends all there is and fails when the provider
// reports that it is too long.
type Budget struct {
	// Window is the model's context window in tokens where Options.Window does
	// not say. Zero is unknown: only the provider's refusal leads to compaction.
	Window int `json:"window,omitempty"`
	// Guess reports that Window is one, made from the model's name.
	Guess bool `json:"guess,omitempty"`
	// Result is how many bytes of one result the model is shown at once. Zero
	// is a share of the window, at most 16 KB; -1 is no bound.
	Result int `json:"result,omitempty"`
	// Cheap is the provider/model that summarises; empty is the task's own.
	Cheap string `json:"cheap,omitempty"`
}
