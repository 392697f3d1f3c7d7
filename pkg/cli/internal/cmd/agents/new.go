package agents

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/config"
)

func newNew(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "new NAME",
		Short:   "Create an agent file from a template",
		Example: "  adroit agents new translator",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := config.Dir(e.Getenv)
			if dir == "" {
				return exit.Fail(errors.New("there is no home directory to keep agents in"), "set HOME")
			}
			text, err := agents.Skeleton(args[0])
			if err != nil {
				return exit.Usagef("for example: adroit agents new changelog", "%v", err)
			}
			path := filepath.Join(dir, "agents", args[0]+".md")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return exit.Fail(err, "make it writable, or keep agents elsewhere with XDG_CONFIG_HOME")
			}
			f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if err != nil {
				if os.IsExist(err) {
					return exit.Fail(fmt.Errorf("%s is there already", e.Home(path)), "edit it, or choose another name")
				}
				return err
			}
			_, err = f.WriteString(text)
			if err := errors.Join(err, f.Close()); err != nil {
				return err
			}
			fmt.Fprintln(e.Out, path)
			fmt.Fprintf(e.Err, "edit it, then: adroit agents lint    adroit run %s PROMPT\n", args[0])
			return nil
		},
	}
}
