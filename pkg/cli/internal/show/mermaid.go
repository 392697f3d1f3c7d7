package show

import (
	"github.com/adroit-run/adroit/internal/text/mermaid"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A chart is a drawing that is being made.
type chart struct {
	mermaid.Chart
	bad  []string // nodes that failed
	open []string // nodes that go on or wait
}

// Mermaid draws as a flowchart in Mermaid's language: sub-agents and steps of
// pipelines are boxes around what they did, branches stand side by side.
func (d *Node) Mermaid() string {
	c := &chart{Chart: mermaid.Chart{Prefix: "n"}}
	top := c.Node("([", "])", d.label(), d.figures())
	if ends := c.row(d, []string{top}); len(ends) > 1 {
		c.link(ends, c.Node("((", "))"))
	}
	c.Class("failed", "stroke:#b00020", c.bad)
	c.Class("open", "stroke-dasharray:4", c.open)
	return c.String()
}

// row draws the kids of d after the nodes that come before, and gives the last.
func (c *chart) row(d *Node, before []string) []string {
	yet := 0
	gap := func() {
		if d.omitted > 0 && yet == d.after {
			before = c.link(before, c.Node("[", "]", kit.Plural(d.omitted, "node")+" left out"))
		}
	}
	for _, row := range d.rows() {
		gap()
		if len(row) > 1 && len(before) > 1 {
			before = c.link(before, c.Node("((", "))"))
		}
		var ends []string
		for _, lane := range row {
			last := before
			for _, k := range lane {
				last = c.link(last, c.node(k))
				yet++
			}
			ends = append(ends, last...)
		}
		before = ends
	}
	if len(d.kids) == d.after {
		gap()
	}
	return before
}

// link draws an edge from each of some nodes to one.
func (c *chart) link(from []string, to string) []string {
	for _, f := range from {
		c.Edge(f, "-->", to)
	}
	return []string{to}
}

// node draws one with what is in it.
func (c *chart) node(d *Node) string {
	if len(d.kids) > 0 {
		return c.Box(func(id string) {
			c.mark(id, jobs.Status(d.status))
			c.row(d, nil)
		}, d.label(), d.figures())
	}
	figures := d.figures()
	if d.omitted > 0 {
		figures += ", " + kit.Plural(d.omitted, "node") + " left out"
	}
	left, right := "[", "]"
	if d.what == "turn" {
		left, right = "(", ")"
	}
	id := c.Node(left, right, d.label(), figures)
	c.mark(id, jobs.Status(d.status))
	return id
}

// mark gives a node the style of its status.
func (c *chart) mark(id string, s jobs.Status) {
	switch {
	case s.Succeeded() || s == "skipped":
	case s == jobs.Failed || s == jobs.Blocked || s.Halted():
		c.bad = append(c.bad, id)
	default:
		c.open = append(c.open, id)
	}
}
