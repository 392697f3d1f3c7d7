package cli

import (
	"fmt"

	"github.com/adroit-run/adroit/pkg/cli/internal/render"
)

// warnIgnored prints which of an agent's permissions do not hold.
func (a *app) warnIgnored(ignored []string) {
	for _, words := range ignored {
		fmt.Fprintf(a.Stderr, "adroit: warning: %s\n", render.SanitizeLine(words))
	}
}
