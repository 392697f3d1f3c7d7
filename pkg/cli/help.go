package cli

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// maxHelp is how wide help gets on a wide terminal.
const maxHelp = 100

// fold fits help to the terminal that out is. Anywhere else it stays as it was
// written.
func fold(root *cobra.Command, out io.Writer, getenv func(string) string) {
	cols := min(kit.NewScreen(out, getenv).Width(), maxHelp)
	if cols <= 0 {
		return
	}
	wrapped := fmt.Sprintf(".FlagUsagesWrapped %d", cols-1)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", wrapped))
	foldLong(root, cols)
}

func foldLong(cmd *cobra.Command, cols int) {
	cmd.Long = kit.Fold(cmd.Long, cols-1)
	for _, c := range cmd.Commands() {
		foldLong(c, cols)
	}
}

// rename has help pages, which name the commands of adroit, name those of a program of
// another name.
func rename(root *cobra.Command, name string) {
	if name == "adroit" {
		return
	}
	var commands []string
	for _, c := range root.Commands() {
		commands = append(commands, regexp.QuoteMeta(c.Name()))
	}
	of := regexp.MustCompile(`\badroit( +(?:(?:` + strings.Join(commands, "|") + `)\b|--?[a-z]))`)
	replace := func(text string) string { return of.ReplaceAllString(text, strings.ReplaceAll(name, "$", "$$")+"$1") }
	var all func(*cobra.Command)
	all = func(c *cobra.Command) {
		c.Short, c.Long, c.Example = replace(c.Short), replace(c.Long), replace(c.Example)
		c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = replace(f.Usage) })
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Usage = replace(f.Usage) })
		for _, kid := range c.Commands() {
			all(kid)
		}
	}
	all(root)
}
