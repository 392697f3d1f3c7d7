package tools

import (
	"fmt"

	"github.com/adroit-run/adroit/internal/hint"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Lookup finds a tool by name, with a hint for what else could be meant.
func Lookup(e *env.Env, name string) (tools.Tool, error) {
	set, err := e.Tools()
	if err != nil {
		return tools.Tool{}, err
	}
	t, ok := set.Lookup(name)
	if !ok {
		help := hint.Command("tools list") + " lists the tools"
		if n := set.Nearest(name); n != "" {
			help = fmt.Sprintf("did you mean %q?", n)
		}
		return t, exit.Usagef(help, "unknown tool %q", name)
	}
	return t, nil
}
