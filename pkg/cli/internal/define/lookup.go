package define

import (
	"fmt"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Lookup finds a tool by name, with a hint for what else could be meant.
func Lookup(e *kit.Env, name string) (tools.Tool, error) {
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
		return t, kit.Usagef(help, "unknown tool %q", name)
	}
	return t, nil
}
