package show

import (
	"fmt"

	"github.com/adroit-run/adroit/internal/tools/control"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// TodoLines is a list of tasks in at most n lines: what is done at its beginning
// gives way first, then its end.
func TodoLines(list []control.TodoItem, n int) []string {
	var out []string
	done := 0
	if len(list) > n {
		for done < len(list) && list[done].Status == "completed" {
			done++
		}
		if done > 1 {
			out, list = append(out, fmt.Sprintf("[x] %d done", done)), list[done:]
		}
	}
	for _, it := range list {
		mark := "[ ] "
		switch it.Status {
		case "completed":
			mark = "[x] "
		case "in_progress":
			mark = "[>] "
		}
		out = append(out, mark+kit.SanitizeLine(it.Content))
	}
	return kit.Head(out, n)
}
