package request

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/executor"
)

// CallTool calls a tool with the arguments that args names, if any, and prints its
// result. hint says where the arguments of the tool can be seen.
func CallTool(ctx context.Context, e *kit.Env, call adroit.ToolCall, args []string, hint string, asJSON bool) error {
	input, err := "{}", error(nil)
	if len(args) > 0 {
		if input, err = e.Content(args[0]); err != nil {
			return err
		}
	}
	if !json.Valid([]byte(input)) {
		return kit.Usagef(hint, "the arguments are not valid JSON")
	}
	call.Args = json.RawMessage(input)
	if call.Dir, err = kit.Directory(call.Dir); err != nil {
		return err
	}
	c, err := e.Client()
	if err != nil {
		return err
	}
	res, err := c.CallTool(ctx, call)
	if err != nil {
		return err
	}
	err = kit.Print(e.Out, asJSON, res, func(w io.Writer, r *executor.ToolResult) {
		fmt.Fprintln(w, strings.TrimSuffix(kit.Sanitize(r.Text), "\n"))
	})
	if err == nil && res.Failed {
		return kit.With(kit.Failed)
	}
	return err
}
