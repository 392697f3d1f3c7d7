package agents

import (
	"time"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Budget is what Defaults say about the room of a job's conversation.
type Budget struct {
	// Windows are those of models whose window the client does not set, by
	// provider/model or by a pattern in which * stands for any text; the longest decides.
	Windows map[string]int
	Model   string // whose window holds; empty is the job's, which a recording stands in for
	Result  int    // bytes of a result that are shown at once
	Cheap   string // names the model that summarises; empty is Defaults.Think, else the job's own
}

// Defaults hold where neither the request nor the agent states anything.
type Defaults struct {
	Model    string
	Limits   executor.Limits
	Approve  executor.Approve
	Mode     executor.Mode
	Rules    []permit.Rule // what may run; the agent's own are added
	Patience time.Duration
	Options  llm.Options
	Prices   llm.Prices // by provider/model or a pattern of it
	// Think names the model for tools that ask one, of agents that do not;
	// empty is the job's own.
	Think  string
	Budget Budget // of conversations

	// Substitutes gives, for a model, the names of tools to offer in place of one
	// that an agent names, so that each model edits in the form it does best.
	// Nil, or no entry, leaves the agent's choice.
	Substitutes func(model string) map[string][]string
}
