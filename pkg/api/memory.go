package api

import (
	"context"

	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/pkg/adroit"
)

// Facts implements [adroit.Memory].
func (c *Client) Facts(ctx context.Context, q adroit.FactQuery) ([]memory.Fact, error) {
	return memoryFacts.do(ctx, c, q)
}

// Remember implements [adroit.Memory].
func (c *Client) Remember(ctx context.Context, n adroit.FactNote) (*memory.Fact, error) {
	return memoryRemember.do(ctx, c, n)
}

// Forget implements [adroit.Memory].
func (c *Client) Forget(ctx context.Context, q adroit.FactQuery) (int, error) {
	return memoryForget.do(ctx, c, q)
}

// ImportFacts implements [adroit.Memory].
func (c *Client) ImportFacts(ctx context.Context, in adroit.FactImport) (*adroit.FactImportReport, error) {
	return memoryImport.do(ctx, c, in)
}
