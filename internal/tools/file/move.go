package file

import (
	"context"
	_ "embed"
	"encoding/json"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
)

// deleteInput is the input of delete_file.
type deleteInput struct {
	Path string `json:"path"`
}

//go:embed delete_file.md
var deleteProse string

// Delete is the tool delete_file.
var Delete = tools.New(tools.Metadata{
	Name: "delete_file", Category: "code", Needs: tools.Read | tools.Write, Effect: tools.Unsafe, Paths: []string{"path"},
	Examples: []tools.Example{{Args: json.RawMessage(`{"path":"old.go"}`)}},
}.Prose(deleteProse), func(_ context.Context, env *tools.Env, in deleteInput) (tools.Result, error) {
	return done(spelling.PathLine(in.Path)+" deleted", env.Files.Remove(in.Path))
})

// moveInput is the input of move_file.
type moveInput struct {
	From string `json:"from"`
	To   string `json:"to"`
}

//go:embed move_file.md
var moveProse string

// Move is the tool move_file.
var Move = tools.New(tools.Metadata{
	Name: "move_file", Category: "code", Needs: tools.Read | tools.Write, Effect: tools.Unsafe, Paths: []string{"from", "to"},
	Examples: []tools.Example{{Note: "rename", Args: json.RawMessage(`{"from":"parse.go","to":"limit.go"}`)}},
}.Prose(moveProse), func(_ context.Context, env *tools.Env, in moveInput) (tools.Result, error) {
	return done(spelling.PathLine(in.From)+" is "+spelling.PathLine(in.To)+" now", env.Files.Rename(in.From, in.To))
})

func done(text string, err error) (tools.Result, error) {
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Text: text, Summary: text}, nil
}
