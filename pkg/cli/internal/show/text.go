package show

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// Text draws in lines. What was done at once has a bar beside it, one branch
// below the other.
func (d *Node) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", d.said(), d.figures())
	d.texts(&b, "  ")
	return b.String()
}

func (d *Node) texts(b *strings.Builder, indent string) {
	left := func() { fmt.Fprintf(b, "%s... %s left out\n", indent, kit.Plural(d.omitted, "node")) }
	drawnYet := 0
	for _, row := range d.rows() {
		if d.omitted > 0 && drawnYet == d.after {
			left()
		}
		for i, lane := range row {
			in := indent
			if len(row) > 1 {
				mark := "| "
				if i == 0 {
					fmt.Fprintf(b, "%s%d at once\n", indent, len(row))
				} else {
					fmt.Fprintf(b, "%s|\n", indent)
				}
				in += mark
			}
			for _, k := range lane {
				fmt.Fprintf(b, "%s%s  (%s)\n", in, k.said(), k.figures())
				k.texts(b, in+"  ")
				drawnYet++
			}
		}
	}
	if d.omitted > 0 && drawnYet <= d.after && len(d.kids) <= d.after {
		left()
	}
}
