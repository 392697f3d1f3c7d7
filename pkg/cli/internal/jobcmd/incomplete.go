package jobcmd

import (
	"fmt"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// incomplete prints why a job's record is not complete. If it is not, that is
// the exit code, too.
func incomplete(e *kit.Env, reasons []string) error {
	for _, r := range reasons {
		fmt.Fprintf(e.Err, "incomplete: %s\n", kit.SanitizeLine(r))
	}
	if len(reasons) > 0 {
		return kit.With(kit.Failed)
	}
	return nil
}
