package agentfile

import (
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/llm"
)

// effort reads how much the agent's model shall think. Claude Code knows more
// of it than there is here.
func (d *decoder) effort(n *node) {
	var e string
	d.String(n, "effort", &e)
	switch {
	case e == "xhigh" || e == "max":
		d.rep.at(n.Place, agents.Note, "", "effort %s is taken as high, the most there is here", e)
		e = string(llm.EffortHigh)
	case !llm.Effort(e).Known() || e == "":
		d.bad(n, "it is one of low, medium, high", "effort is %q", e)
		return
	}
	d.a.Options.Effort = llm.Effort(e)
}
