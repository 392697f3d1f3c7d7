package show

import (
	"fmt"
	"slices"
	"testing"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

func TestTodoLines(t *testing.T) {
	var list []control.TodoItem
	for i := range 12 {
		list = append(list, control.TodoItem{Content: fmt.Sprint("task ", i), Status: "pending"})
	}
	if got, want := TodoLines(list, 3), []string{"[ ] task 0", "[ ] task 1", "... 10 more lines"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for i := range 9 {
		list[i].Status = "completed"
	}
	list[9] = control.TodoItem{Content: "now\x1b[2J\nhere", Status: "in_progress"}
	if got, want := TodoLines(list, 4), []string{"[x] 9 done", "[>] " + kit.SanitizeLine("now\x1b[2J\nhere"), "[ ] task 10", "[ ] task 11"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := TodoLines(nil, 4); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
