package api

import (
	"context"

	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/pkg/adroit"
)

// Facts implements [adroit.Client].
func (c *client) Facts(ctx context.Context, q adroit.FactQuery) ([]memory.Fact, error) {
	return memoryFacts.do(ctx, c, q)
}

// Remember implements [adroit.Client].
func (c *client) Remember(ctx context.Context, n adroit.FactNote) (*memory.Fact, error) {
	return memoryRemember.do(ctx, c, n)
}

// Forget implements [adroit.Client].
func (c *client) Forget(ctx context.Context, q adroit.FactQuery) (int, error) {
	return memoryForget.do(ctx, c, q)
}

// ImportFacts implements [adroit.Client].
func (c *client) ImportFacts(ctx context.Context, dir string, facts []memory.Fact) (added int, refused []string, err error) {
	out, err := memoryImport.do(ctx, c, factFile{dir, facts})
	return out.Added, out.Refused, err
}
