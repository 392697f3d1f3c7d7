package show

import (
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/executor"
)

// Criterion is a definition of done in words.
func Criterion(c executor.Criterion) string {
	if w := c.When; w != nil {
		rest := c
		rest.When = nil
		return "if " + strings.Join(w.Describe(), " and ") + ": " + Criterion(rest)
	}
	switch {
	case c.Signal != "":
		return fmt.Sprintf("the model says %s or calls finish", c.Signal)
	case c.Artifact != "" && len(c.Where) > 0:
		return fmt.Sprintf("artifact %s where %s", c.Artifact, Readable(c.Where))
	case c.Artifact != "":
		return "artifact " + c.Artifact
	case c.Tool != "":
		return c.Tool + " succeeds once"
	case c.Check != "":
		text := "check " + c.Check
		if len(c.With) > 0 {
			text += " with " + Readable(c.With)
		}
		if c.IfMissing != nil {
			text += fmt.Sprintf(" (where there is nothing to check: %s)", Criterion(*c.IfMissing))
		}
		return text
	case c.Run != "":
		return fmt.Sprintf("check `%s`", c.Run)
	case c.All != nil:
		return joined(c.All, "; ")
	case c.Any != nil:
		return "one of (" + joined(c.Any, "; ") + ")"
	case !c.Zero():
		return strings.Join(c.Describe(), "; ")
	}
	return "the model stops calling tools"
}

func joined(list []executor.Criterion, sep string) string {
	var parts []string
	for _, c := range list {
		parts = append(parts, Criterion(c))
	}
	return strings.Join(parts, sep)
}
