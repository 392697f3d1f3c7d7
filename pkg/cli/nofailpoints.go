//go:build !failpoints

package cli

import "github.com/adroit-run/adroit/pkg/flow"

// killHook is for tests; see failpoints.go.
func killHook() func(string, flow.Step) { return nil }
