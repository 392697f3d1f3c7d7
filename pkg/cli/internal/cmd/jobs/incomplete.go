package jobs

import (
	"fmt"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/format"
)

// incomplete prints why a job's record is not complete. If it is not, that is
// the exit code, too.
func incomplete(e *env.Env, reasons []string) error {
	for _, r := range reasons {
		fmt.Fprintf(e.Err, "incomplete: %s\n", format.SanitizeLine(r))
	}
	if len(reasons) > 0 {
		return exit.With(exit.Failed)
	}
	return nil
}
