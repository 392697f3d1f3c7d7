package process

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// How it is known who changed a file while a command ran.
const (
	// Exact: the command's changes are collected apart from everybody else's.
	Exact = "exact"
	// Uncertain: the files are compared before and after the command, so that
	// changes somebody else made meanwhile are among them.
	Uncertain = "uncertain"
)

// Attribution returns how the changes of commands in root are found at a level,
// Exact or Uncertain, and if they are uncertain, why. It runs a command to find
// out. Data is where jobs are kept; it need not exist. A single command can be
// uncertain where others are exact: see [Output.Uncertain].
func Attribution(level sandbox.Level, root, data string) (how, why string) {
	for {
		if info, err := os.Stat(data); err == nil && info.IsDir() || data == filepath.Dir(data) {
			break
		}
		data = filepath.Dir(data)
	}
	if why := usable(level, root, data, &overlay.Support{}); why != "" {
		return Uncertain, why
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return Uncertain, err.Error()
	}
	if why := new(overlay.Support).Fits(real, []string{real}); why != "" {
		return Uncertain, why
	}
	return Exact, ""
}

func usable(level sandbox.Level, root, data string, o *overlay.Support) string {
	if level != sandbox.Full {
		return fmt.Sprintf("only the sandbox level %s collects what a command writes", sandbox.Full)
	}
	return o.Usable(root, data)
}
