package render

import (
	"strings"

	"github.com/adroit-run/adroit/pkg/executor"
)

// SmallWindows are the context windows, in tokens, for which agents show lists
// shortened tools.
var SmallWindows = []int{4096, 8192}

// ShortenedRows say which tools a window is too small for.
func ShortenedRows(t *Table, where string, list []executor.ShortenedTool) {
	var short, out []string
	for _, f := range list {
		if f.Removed {
			out = append(out, f.Tool+" ("+f.Why+")")
		} else {
			short = append(short, f.Tool)
		}
	}
	if len(short) > 0 {
		t.Row(where+"told in short", strings.Join(short, ", ")+" (the window is small; describe_tool tells the rest)")
	}
	if len(out) > 0 {
		t.Row(where+"left out", strings.Join(out, ", "))
	}
}
