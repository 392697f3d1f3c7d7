package cli

import (
	"strings"

	"github.com/adroit-run/adroit/pkg/executor"
)

// smallWindows are those for which agents show says what becomes of tools.
var smallWindows = []int{4096, 8192}

// fittedRows say which tools a window is too small for.
func fittedRows(t *table, where string, list []executor.Fitted) {
	var short, out []string
	for _, f := range list {
		if f.Out {
			out = append(out, f.Tool+" ("+f.Why+")")
		} else {
			short = append(short, f.Tool)
		}
	}
	if len(short) > 0 {
		t.row(where+"told in short", strings.Join(short, ", ")+" (the window is small; describe_tool tells the rest)")
	}
	if len(out) > 0 {
		t.row(where+"left out", strings.Join(out, ", "))
	}
}
