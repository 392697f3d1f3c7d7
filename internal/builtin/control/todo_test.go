package control_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

func TestTodoConforms(t *testing.T) { toolstest.Check(t, control.Todo) }

func TestTodo(t *testing.T) {
	many := `{"items":[` + strings.Repeat(`{"content":"x","status":"pending"},`, 30) + `{"content":"x","status":"pending"}]}`
	for _, c := range []struct {
		args, text, summary, list string // list "" is a failure
	}{
		{`{"items":[{"content":" a\n b ","status":"completed"},{"content":"c","status":"in_progress"},{"content":"d","status":"pending"}]}`, "1 of 3 done", "1 of 3 done; now: c",
			`[{"content":"a b","status":"completed"},{"content":"c","status":"in_progress"},{"content":"d","status":"pending"}]`},
		{`{"items":[]}`, "0 of 0 done", "0 of 0 done", `[]`},
		{`{"items":[{"content":" \t","status":"pending"}]}`, "items/0: content is empty", "", ""},
		{`{"items":[{"content":"x","status":"later"}]}`, "status", "", ""},
		{`{"items":[{"content":"` + strings.Repeat("x", 201) + `","status":"pending"}]}`, "200", "", ""},
		{many, "30", "", ""},
		{`{}`, "items", "", ""},
	} {
		r, err := control.Todo.Run(context.Background(), nil, json.RawMessage(c.args))
		if err != nil || !strings.Contains(r.Text, c.text) || r.Failed != (c.list == "") || string(r.Artifacts["todo"]) != c.list {
			t.Errorf("%.80s: %+v, %v", c.args, r, err)
		}
		if c.list != "" && r.Summary != c.summary {
			t.Errorf("%.80s: %q", c.args, r.Summary)
		}
	}
	// It is in each request of an agent that has it (bytes by 4).
	if n := len(control.Todo.Name) + len(control.Todo.Description) + len(control.Todo.Input.JSON()) + 30; n/4 > 120 {
		t.Errorf("the tool takes about %d tokens, 120 are allowed", n/4)
	}
}
