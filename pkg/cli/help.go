package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/format"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
)

// maxHelp is how wide help gets on a wide terminal.
const maxHelp = 100

// fold fits help to the terminal that out is. Anywhere else it stays as it was
// written.
func fold(root *cobra.Command, out io.Writer, getenv func(string) string) {
	cols := min(term.NewScreen(out, getenv).Width(), maxHelp)
	if cols <= 0 {
		return
	}
	wrapped := fmt.Sprintf(".FlagUsagesWrapped %d", cols-1)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", wrapped))
	foldLong(root, cols)
}

func foldLong(cmd *cobra.Command, cols int) {
	cmd.Long = format.Fold(cmd.Long, cols-1)
	for _, c := range cmd.Commands() {
		foldLong(c, cols)
	}
}
