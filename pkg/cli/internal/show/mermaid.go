package show

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A chart writes a flowchart in Mermaid's language.
type chart struct {
	b    strings.Builder
	n    int
	bad  []string // nodes that failed
	open []string // nodes that go on or wait
	ties []string // edges, below all nodes
}

// Mermaid draws as a flowchart in Mermaid's language: sub-agents and steps of
// pipelines are boxes around what they did, branches stand side by side.
func (d *Node) Mermaid() string {
	c := &chart{}
	c.b.WriteString("flowchart TD\n")
	top := c.id()
	fmt.Fprintf(&c.b, "  %s([%s])\n", top, label(d.said(), d.figures()))
	ends := c.row(d, []string{top}, "  ")
	if len(ends) > 1 {
		c.joint(ends, "  ")
	}
	for _, t := range c.ties {
		c.b.WriteString("  " + t + "\n")
	}
	c.class("failed", "stroke:#b00020", c.bad)
	c.class("open", "stroke-dasharray:4", c.open)
	return c.b.String()
}

func (c *chart) class(name, style string, ids []string) {
	if len(ids) > 0 {
		fmt.Fprintf(&c.b, "  classDef %s %s\n  class %s %s\n", name, style, strings.Join(ids, ","), name)
	}
}

func (c *chart) id() string {
	c.n++
	return fmt.Sprintf("n%d", c.n)
}

// row draws the kids of d after the nodes that come before, and gives the last.
func (c *chart) row(d *Node, before []string, indent string) []string {
	yet := 0
	gap := func() {
		if d.omitted > 0 && yet == d.after {
			id := c.id()
			fmt.Fprintf(&c.b, "%s%s[%s]\n", indent, id, label(kit.Plural(d.omitted, "node")+" left out"))
			before = c.tie(before, id)
		}
	}
	for _, row := range d.rows() {
		gap()
		if len(row) > 1 && len(before) > 1 {
			before = c.joint(before, indent)
		}
		var ends []string
		for _, lane := range row {
			last := before
			for _, k := range lane {
				last = c.tie(last, c.node(k, indent))
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

// tie leads from each of some nodes to one.
func (c *chart) tie(from []string, to string) []string {
	for _, f := range from {
		c.ties = append(c.ties, f+" --> "+to)
	}
	return []string{to}
}

func (c *chart) joint(before []string, indent string) []string {
	id := c.id()
	fmt.Fprintf(&c.b, "%s%s(( ))\n", indent, id)
	return c.tie(before, id)
}

// node draws one with what is in it.
func (c *chart) node(d *Node, indent string) string {
	id := c.id()
	switch s := jobs.Status(d.status); {
	case s.Succeeded() || s == "skipped":
	case s == jobs.Failed || s == jobs.Blocked || s.Halted():
		c.bad = append(c.bad, id)
	default:
		c.open = append(c.open, id)
	}
	if len(d.kids) == 0 {
		figures := d.figures()
		if d.omitted > 0 {
			figures += ", " + kit.Plural(d.omitted, "node") + " left out"
		}
		from, to := "[", "]"
		if d.what == "turn" {
			from, to = "(", ")"
		}
		fmt.Fprintf(&c.b, "%s%s%s%s%s\n", indent, id, from, label(d.said(), figures), to)
		return id
	}
	fmt.Fprintf(&c.b, "%ssubgraph %s [%s]\n", indent, id, label(d.said(), d.figures()))
	c.row(d, nil, indent+"  ")
	c.b.WriteString(indent + "end\n")
	return id
}

// label is text in quotes, in which everything that could mean something to
// Mermaid or to a browser is a number.
func label(rows ...string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, text := range rows {
		if i > 0 {
			b.WriteString("<br/>")
		}
		for _, r := range text {
			switch {
			case r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)), strings.ContainsRune(" .,:_/()+-", r), r >= 0x80 && unicode.In(r, unicode.L, unicode.M, unicode.N):
				b.WriteRune(r)
			default:
				fmt.Fprintf(&b, "#%d;", r)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}
