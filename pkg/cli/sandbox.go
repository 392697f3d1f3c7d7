package cli

import (
	"cmp"

	"github.com/adroit-run/adroit/internal/workspace/sandbox"
)

// sandboxWords say which level commands get here.
func (a *app) sandboxWords(level string) string {
	c, err := a.config()
	if err != nil {
		return "unknown"
	}
	l, err := sandbox.Parse(cmp.Or(level, c.Sandbox.Level))
	if err != nil {
		return "unknown"
	}
	r := sandbox.Choose(l)
	switch {
	case r.Err() != nil:
		return "refused"
	case r.Level != sandbox.Off && c.Sandbox.Net == "open":
		return string(r.Level) + " (network open)"
	}
	return string(r.Level)
}
