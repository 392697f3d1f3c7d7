// Command adroit-worker is adroit with its engine for Temporal: adroit starts it for
// --engine temporal and for adroit worker.
package main

import (
	"context"

	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/temporal"
)

func main() {
	cli.Program{Parts: parts.All(), Engine: func(ctx context.Context, at config.Temporal) (cli.Engine, error) {
		c, err := temporal.Dial(ctx, at)
		if err != nil {
			return nil, err
		}
		return c, nil
	}, Worker: temporal.Commands}.Main()
}
