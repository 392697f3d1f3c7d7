package jobs

import (
	"cmp"
	"time"

	"github.com/adroit-run/adroit/pkg/llm"
)

// Figures are what something has taken.
type Figures struct {
	Turns int       `json:"turns,omitempty"` // answers of models
	Calls int       `json:"calls,omitempty"` // tool calls
	Usage llm.Usage `json:"usage,omitzero"`
	Cost  float64   `json:"cost_usd,omitempty"` // as far as the models have prices
}

func (f Figures) add(o Figures) Figures {
	return Figures{f.Turns + o.Turns, f.Calls + o.Calls, f.Usage.Add(o.Usage), f.Cost + o.Cost}
}

// A Part is a piece of a job with an account of its own: a sub-agent, or one
// run of a step of a pipeline. Its figures have those of the parts in it.
type Part struct {
	Path     string        `json:"path"`             // where it began
	Within   string        `json:"within,omitempty"` // the path of the part that it is in
	Agent    string        `json:"agent,omitempty"`
	About    string        `json:"about,omitempty"` // what it is to do, in a line
	Step     string        `json:"step,omitempty"`  // id of the pipeline's step
	Model    string        `json:"model,omitempty"`
	Status   string        `json:"status"` // of one that has not ended, the job's
	Reason   string        `json:"reason,omitempty"`
	Attempts int           `json:"attempts,omitempty"` // of a pipeline's step
	Retries  int           `json:"retries,omitempty"`  // of its own steps
	Took     time.Duration `json:"took_ns,omitempty"`  // its work, waiting for people not counted
	Began    time.Time     `json:"began,omitzero"`
	Ended    time.Time     `json:"ended,omitzero"` // zero of one that has not
	Figures
}

// Title is what a part is called: the step's id, or the agent's name.
func (p *Part) Title() string { return cmp.Or(p.Step, p.Agent) }

// A node is a part and what is known of it so far.
type node struct {
	Part
	own      Figures
	reported *Figures // by itself, at its end
	kids     []*node
	up       *node
	lo, hi   int // of a step: its events are those between, in their scope; hi 0 is open
	last     time.Time
}

// all is what a node and those in it have taken.
func (n *node) all() Figures {
	sum := n.own
	for _, k := range n.kids {
		sum = sum.add(k.all())
	}
	if r := n.reported; r != nil {
		if n.Step != "" { // a row has neither of these
			r.Calls, r.Usage.Cached = sum.Calls, sum.Usage.Cached
		}
		return *r
	}
	return sum
}

func (n *node) depth() (d int) {
	for n = n.up; n != nil && n.up != nil; n = n.up {
		d++
	}
	return d
}

// part is the node as others see it; status is that of one that has not ended.
func (n *node) part(status Status) Part {
	p := n.Part
	p.Figures = n.all()
	if n.up != nil {
		p.Within = n.up.Path
	}
	p.Status = cmp.Or(p.Status, string(status))
	if p.Took == 0 && p.Ended.IsZero() && !n.last.IsZero() {
		p.Took = n.last.Sub(p.Began)
	}
	return p
}
