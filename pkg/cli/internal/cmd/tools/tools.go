// Package tools holds the commands of adroit tools.
package tools

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// New is adroit tools.
func New(e *env.Env) *cobra.Command {
	return env.Lister("tools", "List, show, check and call tools", newList(e), newShow(e), newLint(e), newCall(e))
}

// Lookup finds a tool by name, with a hint for what else could be meant.
func Lookup(e *env.Env, name string) (tools.Tool, error) {
	set, err := e.Tools()
	if err != nil {
		return tools.Tool{}, err
	}
	t, ok := set.Lookup(name)
	if !ok {
		hint := "adroit tools list lists the tools"
		if n := set.Nearest(name); n != "" {
			hint = fmt.Sprintf("did you mean %q?", n)
		}
		return t, exit.Usagef(hint, "unknown tool %q", name)
	}
	return t, nil
}
