package control

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/tools"
)

type todoInput struct {
	Items []item `json:"items" jsonschema:"maxItems=30,description=All of them"`
}

type item struct {
	Content string `json:"content" jsonschema:"minLength=1,maxLength=200"`
	Status  string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=completed"`
}

// Todo is the tool todo.
var Todo = tools.New(tools.Metadata{
	Name: "todo", Category: "utility", Effect: tools.Pure, Optionality: tools.Optional, Produces: []string{"todo"},
	Examples: []tools.Example{{Note: "the first of two has begun", Args: json.RawMessage(`{"items":[{"content":"Round once per cart","status":"in_progress"},{"content":"Test three lines of 0.333","status":"pending"}]}`)}},
}.ProseIn(descriptions), keep)

func keep(_ context.Context, _ *tools.Env, in todoInput) (tools.Result, error) {
	done, now := 0, ""
	for i, it := range in.Items {
		text := strings.Join(strings.Fields(it.Content), " ")
		if text == "" {
			return tools.Result{}, fmt.Errorf("items/%d: content is empty", i)
		}
		in.Items[i].Content = text
		switch {
		case it.Status == "completed":
			done++
		case it.Status == "in_progress" && now == "":
			now = "; now: " + text
		}
	}
	count := fmt.Sprintf("%d of %d done", done, len(in.Items))
	return turn.Bind(tools.Result{Text: count, Summary: count + now}, "todo", append([]item{}, in.Items...))
}

// A TodoItem is a task on the list that an agent keeps.
type TodoItem struct {
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress or completed
}

// TodoList returns the list of tasks that an event gives, whole; ok is false if the event
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
