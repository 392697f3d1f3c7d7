package control

import (
	"encoding/json"
	"strings"

	"github.com/adroit-run/adroit/pkg/event"
)

// An Item is a task on the list that an agent keeps.
type TodoItem struct {
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress or completed
}

// List returns the list of tasks that an event gives, whole; ok is false if the event
// gives none.
func TodoList(ev event.Event) (list []TodoItem, ok bool) {
	if ev.Kind != event.StepFinished || ev.Step != "tool" || ev.Name != Todo.Name || ev.Error != "" {
		return nil, false
	}
	var d struct {
		Args         struct{ Items []TodoItem }
		Failed, Asks bool
	}
	if json.Unmarshal(ev.Data, &d) != nil || d.Failed || d.Asks {
		return nil, false
	}
	for i, it := range d.Args.Items {
		d.Args.Items[i].Content = strings.Join(strings.Fields(it.Content), " ")
	}
	return d.Args.Items, true
}
