package machine

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

func newGet(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "get KEY",
		Short:   "Print one value",
		Example: "  adroit config get mode",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := e.Config()
			if err != nil {
				return err
			}
			var names []string
			for _, s := range c.Settings() {
				if s.Key == args[0] && s.Value == "" {
					fmt.Fprintf(e.Err, "%s is not set\n", s.Key)
					return nil
				}
				if s.Key == args[0] {
					fmt.Fprintln(e.Out, kit.SanitizeLine(s.Value))
					return nil
				}
				names = append(names, s.Key)
			}
			help := hint.Command("config show") + " lists the keys"
			if n := spelling.Nearest(args[0], names); n != "" {
				help = fmt.Sprintf("did you mean %q?", n)
			}
			return kit.Usagef(help, "there is no setting %q", args[0])
		},
	}
}
