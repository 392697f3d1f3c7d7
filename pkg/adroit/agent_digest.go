package adroit

import (
	"encoding/json"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// agentDigest identifies the definition of an agent.
func agentDigest(a *agents.DynamicAgent) string {
	b, err := json.Marshal(a)
	if err != nil {
		return "" // then its changes are left out
	}
	return flow.Digest(b)
}

// agentNow is the digest of the agent that a request names, as it is now; "" if it
// cannot be used.
func (rt *Runtime) agentNow(in agents.Input, trust bool) string {
	d, err := rt.trusts(in.Dir, trust)
	if err != nil || in.Agent == "" {
		return ""
	}
	cat := rt.catalog.Agents(d) // what is wrong with others does not matter
	a, err := cat.Lookup(in.Agent)
	if err != nil {
		return ""
	}
	return agentDigest(a)
}

// warnAgentChanged warns that the agent of a job is another now: the job goes on with
// the one that it began with.
func (rt *Runtime) warnAgentChanged(j *jobs.Job) {
	c := rt.config(j)
	var in agents.Input
	if c.AgentDigest == "" || j.Workflow != agents.Workflow.Name || json.Unmarshal(j.Input, &in) != nil || in.Agent == "" {
		return
	}
	switch now := rt.agentNow(in, c.Trust); now {
	case c.AgentDigest:
	case "":
		rt.warn("the agent %s cannot be used any more; %s goes on with it as it was", in.Agent, j.ID)
	default:
		rt.warn("the agent %s has changed since %s began, which goes on with it as it was; %s takes it as it is now", in.Agent, j.ID, hint.Command("jobs retry %s", j.ID))
	}
}
