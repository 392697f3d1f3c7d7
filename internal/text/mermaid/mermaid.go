// Package mermaid writes flowcharts in Mermaid's language.
package mermaid

import (
	"fmt"
	"strings"
	"unicode"
)

// A Chart is a flowchart that is being written. It is not safe for concurrent use.
type Chart struct {
	Prefix string // what the ids of its nodes begin with

	nodes, edges strings.Builder
	n, depth     int
}

// Node draws a node between two brackets of the language, with rows of text or none,
// and returns its id.
func (c *Chart) Node(left, right string, rows ...string) string {
	id, text := c.id(), " "
	if len(rows) > 0 {
		text = Label(rows...)
	}
	c.line("%s%s%s%s", id, left, text, right)
	return id
}

// Box draws a box around the nodes that inside draws, and returns its ID.
func (c *Chart) Box(inside func(id string), rows ...string) string {
	id := c.id()
	c.line("subgraph %s [%s]", id, Label(rows...))
	c.depth++
	inside(id)
	c.depth--
	c.line("end")
	return id
}

// End draws the node where all ends, and returns its id.
func (c *Chart) End() string {
	c.line("done(((end)))")
	return "done"
}

// Edge leads from a node to another.
func (c *Chart) Edge(from, arrow, to string) {
	fmt.Fprintf(&c.edges, "  %s %s %s\n", from, arrow, to)
}

// Class gives nodes a style.
func (c *Chart) Class(name, style string, ids []string) {
	if len(ids) > 0 {
		fmt.Fprintf(&c.edges, "  classDef %s %s\n  class %s %s\n", name, style, strings.Join(ids, ","), name)
	}
}

// String returns the chart: its nodes, and then its edges.
func (c *Chart) String() string {
	return "flowchart TD\n" + c.nodes.String() + c.edges.String()
}

func (c *Chart) id() string {
	c.n++
	return fmt.Sprintf("%s%d", c.Prefix, c.n)
}

func (c *Chart) line(format string, args ...any) {
	c.nodes.WriteString(strings.Repeat("  ", c.depth+1))
	fmt.Fprintf(&c.nodes, format+"\n", args...)
}

// Label quotes text; every character with a meaning to Mermaid or to a browser becomes a number.
func Label(rows ...string) string {
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
