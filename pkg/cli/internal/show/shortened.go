package show

import (
	"strings"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/executor"
)

// ShortenedRows list the tools whose description is shortened, or that are left out, in a small window.
func ShortenedRows(t *kit.Table, where string, list []executor.ShortenedTool) {
	var short, out []string
	for _, f := range list {
		if f.Removed {
			out = append(out, f.Tool+" ("+f.Why+")")
		} else {
			short = append(short, f.Tool)
		}
	}
	if len(short) > 0 {
		t.Row(where+"shortened", strings.Join(short, ", ")+" (the window is small; describe_tool has the full description)")
	}
	if len(out) > 0 {
		t.Row(where+"left out", strings.Join(out, ", "))
	}
}
