package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Source has the tools of servers. It is safe for concurrent use.
type Source struct {
	Servers turn.Servers // nil: there are none
	Warn    func(format string, args ...any)
}

// Offered is what the tool servers add to the resolving of a request.
type Offered struct {
	In    agents.Input         // with an agent that has its servers
	Tools *tools.Set           // with their tools
	All   map[string]turn.Tool // the tools of its servers, by name
	reach *turn.Reach          // what is behind call_tool and read_resource; nil for nothing
}

// serverTool is a tool of a server with its body.
func (o Source) serverTool(t turn.Tool, scope func() (turn.Scope, error)) tools.Tool {
	m := t.Metadata
	m.Timeout = callTime
	return tools.Func(m, t.Input, func(ctx context.Context, env *tools.Env, args json.RawMessage) (tools.Result, error) {
		in, err := scope()
		if err != nil {
			return tools.Result{}, err
		}
		if env.Files != nil && !same(env.Files.Dir(), in.Dir) { // the work tree of a sub-agent
			in.Origin, in.Dir = cmp.Or(in.Origin, in.Dir), env.Files.Dir()
		}
		return o.Servers.Call(ctx, in, t, env, args)
	})
}

// callTime is above the limits of calls, which their servers' progress extends: those are
// with who makes the calls.
const callTime = 24 * time.Hour

// same reports whether two names are of one directory.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// ofServer reports whether a name of a tool is that of a server's.
func ofServer(name string) bool { return strings.HasPrefix(name, turn.Prefix("")) }
