package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
)

func newSet(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "set KEY VALUE",
		Short:   "Set one value in the configuration file",
		Long:    "Sets one value in the configuration file, which is made if it is not there. Comments and\nother values stay as they are. What would be no valid configuration is refused.",
		Example: "  adroit config set mode auto\n  adroit config set limits.time 2h",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			path := config.Path(e.Getenv)
			if path == "" {
				return kit.Fail(errors.New("there is no home directory to keep a configuration in"), "set HOME or ADROIT_CONFIG")
			}
			if to, err := filepath.EvalSymlinks(path); err == nil {
				path = to
			}
			text, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if text, err = config.Set(path, text, args[0], args[1]); err != nil {
				return kit.Usagef(helpOf(err), "%w", err)
			}
			if err := rootfs.WriteFile(path, text); err != nil {
				return err
			}
			fmt.Fprintln(e.Out, path)
			c, err := e.Config()
			if err != nil {
				return nil // the environment has a fault, which other commands report
			}
			for _, s := range c.Settings() {
				if s.Key == args[0] && s.From != "file "+config.Path(e.Getenv) {
					e.Warn("%s is taken from %s", s.Key, s.From)
				}
			}
			return nil
		},
	}
}

// hint is what to do about a fault of a configuration.
func helpOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
