package llm

// An Activity is one action of an external agent, as the agent reports it: not
// verified.
type Activity struct {
	Kind   string `json:"activity"`
	ID     string `json:"id,omitempty"`   // of the call or the session
	Name   string `json:"name,omitempty"` // of the tool
	Text   string `json:"text,omitempty"`
	Output string `json:"said,omitempty"` // first line of a tool's output
	Code   *int   `json:"code,omitempty"` // exit code of a command
	Status string `json:"status,omitempty"`
	Usage  *Usage `json:"usage,omitempty"`
}

// Work sums up what an external agent did for one answer, as reported by the
// agent.
type Work struct {
	Session string  `json:"session,omitempty"` // resumes it
	Program string  `json:"program,omitempty"` // with its version, if reported
	Turns   int     `json:"turns,omitempty"`   // requests to the model behind it
	Calls   int     `json:"calls,omitempty"`   // of its tools
	Denied  int     `json:"denied,omitempty"`  // of them
	CostUSD float64 `json:"cost_usd,omitempty"`
	Changed int     `json:"changed,omitempty"` // files
	// Refused lists the permissions that were refused, with the reasons. The
	// agent itself learns only of the refusal.
	Refused []string `json:"refused,omitempty"`
	// Stopped names the limit that ended the work early: turns, tokens, cost,
	// time or same. The answer is then the text so far.
	Stopped string `json:"stopped,omitempty"`
}
