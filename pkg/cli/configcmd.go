package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/exit"
	"github.com/adroit-run/adroit/pkg/cli/render"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the configuration and where each value comes from",
		Args:  cobra.ArbitraryArgs,
		RunE:  group,
	}
	var asJSON bool
	show := &cobra.Command{
		Use:   "show",
		Short: "List every setting, its value and its origin",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := a.config()
			if err != nil {
				return err
			}
			list := c.Settings()
			if asJSON {
				return a.json(list)
			}
			var t render.Table
			for _, e := range list {
				t.Row(e.Key, e.Value, e.From)
			}
			t.Write(a.Stdout)
			return nil
		},
	}
	show.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	get := &cobra.Command{
		Use:   "get KEY",
		Short: "Print one value",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := a.config()
			if err != nil {
				return err
			}
			var names []string
			for _, s := range c.Settings() {
				if s.Key == args[0] {
					fmt.Fprintln(a.Stdout, render.SanitizeLine(s.Value))
					return nil
				}
				names = append(names, s.Key)
			}
			hint := "adroit config show lists the keys"
			if n := nearest(args[0], names); n != "" {
				hint = fmt.Sprintf("did you mean %q?", n)
			}
			return exit.Usagef(hint, "there is no setting %q", args[0])
		},
	}
	path := &cobra.Command{
		Use:   "path",
		Short: "Print where the configuration file is looked for",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p := a.configPath()
			if p == "" {
				return exit.Fail(fmt.Errorf("there is no home directory to keep a configuration in"), "set HOME or ADROIT_CONFIG")
			}
			fmt.Fprintln(a.Stdout, p)
			return nil
		},
	}
	cmd.AddCommand(show, get, path)
	return cmd
}
