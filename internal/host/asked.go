package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// asked is the output of a step that has to ask a person first, nil if err is
// not that.
func asked(p Invocation, err error) *executor.ToolResult {
	if err == nil {
		return nil
	}
	approval, unchecked, user, changed := new(approvalError), new(uncheckedError), new(turn.Asking), new(turn.Changed)
	switch {
	case errors.As(err, &approval):
		return &executor.ToolResult{Question: &approval.Question}
	case errors.As(err, &unchecked):
		raw, err := json.Marshal(unchecked.Unchecked)
		if err != nil {
			return nil // it stays the error of the step
		}
		return &executor.ToolResult{Unchecked: raw}
	case errors.As(err, &user):
		return &executor.ToolResult{UserQuestion: &executor.UserQuestion{
			ID: user.ID, Call: user.Call, Server: user.Server, Tool: user.Tool, Question: user.Message, Schema: user.Schema, URL: user.URL, Fault: user.Fault,
		}}
	case errors.As(err, &changed):
		return &executor.ToolResult{Question: &executor.Question{
			Tool: p.Tool.Name, Args: p.Args, Needs: shownNeeds(p.Tool), Preview: changed.Text, Changed: true, Digest: changed.Digest,
			Why: changed.Why(),
		}}
	}
	return nil
}

// withSaid gives a call what people have said to what it asked.
func withSaid(ctx context.Context, use turn.ToolCall) context.Context {
	if use.Accepted == "" && len(use.Answers) == 0 {
		return ctx
	}
	said := turn.Said{Accepted: use.Accepted}
	for _, a := range use.Answers {
		said.Answers = append(said.Answers, turn.Answer(a))
	}
	return turn.WithSaid(ctx, said)
}

// noSuchTool is the output of a step of a tool that is not there: of a server's, the
// model may have made up the name.
func noSuchTool(name string) (json.RawMessage, error) {
	if !strings.HasPrefix(name, turn.Prefix("")) {
		return nil, fmt.Errorf("tool %s is not part of this program any more", name)
	}
	return json.Marshal(executor.ToolResult{Result: tools.Result{Failed: true, Text: fmt.Sprintf("There is no tool %s; %s finds tools.", name, turn.DescribeTool)}})
}
