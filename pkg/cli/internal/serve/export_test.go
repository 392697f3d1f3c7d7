package serve

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/pkg/adroit"
)

// A Registry adds what the conformance suite wants a server to have.
type Registry struct{ s *Server }

// NewWith is New with a registry that add fills.
func NewWith(ctx context.Context, c adroit.Client, o Options, adjust func(*sdk.ServerOptions), add func(Registry) error) (*Server, error) {
	s, err := newServer(ctx, c, o, adjust)
	if err == nil {
		err = add(Registry{s})
	}
	return s, err
}

// SDK is the library's server.
func (r Registry) SDK() *sdk.Server { return r.s.sdk }

// Tool adds a tool as the server adds its own.
func (r Registry) Tool(name, input string, run func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error)) error {
	in, err := schema.Compile([]byte(input))
	if err != nil {
		return err
	}
	r.s.add(&sdk.Tool{Name: name, Description: "For the suite."}, in, func(ctx context.Context, k *call) (*sdk.CallToolResult, error) { return run(ctx, k.req) })
	return nil
}
