package jobdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/work/ledger"
)

// A WaitingError is why a job must not be merged or removed yet: what a command of it
// changed is in no tree.
type WaitingError struct{ Waiting []ledger.Waiting }

// mostWaiting bounds the paths that are named.
const mostWaiting = 10

func (e *WaitingError) Error() string {
	return "a command was cut short, and what it changed is in no tree yet: " + Describe(e.Waiting)
}

// Describe says what waits, and where.
func Describe(all []ledger.Waiting) string {
	var paths, dirs []string
	for _, w := range all {
		paths, dirs = append(paths, w.Paths...), append(dirs, w.Dir)
	}
	what, more := "1 file", ""
	if n := len(paths); n > 1 {
		what = fmt.Sprintf("%d files", n)
	}
	if n := len(paths) - mostWaiting; n > 0 {
		paths, more = paths[:mostWaiting], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s in %s (%s%s)", what, strings.Join(dirs, ", "), strings.Join(paths, ", "), more)
}

// Waiting is what commands of a job have changed, or of its sub-agents in their copies,
// that is neither joined nor discarded. Nobody may run the job.
func Waiting(data, id string) ([]ledger.Waiting, error) {
	homes := []string{filepath.Join(data, "jobs", id)}
	names, err := os.ReadDir(filepath.Dir(treeHome(data, id, "x")))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, e := range names {
		homes = append(homes, treeHome(data, id, e.Name()))
	}
	var all []ledger.Waiting
	for _, home := range homes {
		w, err := ledger.FindWaiting(filepath.Join(home, "ledger"))
		if err != nil {
			return nil, err
		}
		all = append(all, w...)
	}
	return all, nil
}
