package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/workspace/process"
	"github.com/adroit-run/adroit/pkg/adroit"
	toolscmd "github.com/adroit-run/adroit/pkg/cli/cmd/tools"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func (a *app) toolsCall() *cobra.Command {
	var asJSON bool
	var dir, level string
	cmd := &cobra.Command{
		Use:   "call NAME [JSON|@FILE|-]",
		Short: "Call a tool in this directory, without a model",
		Long: "Calls a tool in the current directory, or that of -C, and prints the result a model would get.\n" +
			"There is no job, so its changes cannot be undone.",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := toolscmd.Lookup(a.env(), args[0])
			if err != nil {
				return err
			}
			input := "{}"
			if len(args) == 2 {
				if input, err = a.content(args[1]); err != nil {
					return err
				}
			}
			if !json.Valid([]byte(input)) {
				return exit.Usagef("adroit tools show "+t.Name+" lists them", "the arguments are not valid JSON")
			}
			root, err := directory(dir)
			if err != nil {
				return err
			}
			logs, err := os.MkdirTemp("", "adroit-call-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(logs)
			files, err := workspace.Open(root, nil)
			if err != nil {
				return err
			}
			defer files.Close()
			confined, err := a.confine(level, logs)
			if err != nil {
				return err
			}
			exec := process.New(root, logs, nil, confined)
			defer exec.Close()
			conf, err := a.config()
			if err != nil {
				return err
			}
			rt, err := a.runtime()
			if err != nil {
				return err
			}
			test, _, err := rt.TestCommandIn(root, false)
			if err != nil {
				return err
			}
			env := &tools.Env{Job: "call", Key: "call", Artifacts: adroit.TestCommand(test), Files: files, Exec: exec, HTTP: conf.Network.Guard().Client()}
			res, err := t.Run(cmd.Context(), env, json.RawMessage(input))
			if err != nil {
				return err
			}
			if asJSON {
				err = a.json(executor.ToolResult{Result: res})
			} else {
				fmt.Fprintln(a.Stdout, strings.TrimSuffix(render.Sanitize(res.Text), "\n"))
			}
			if err == nil && res.Failed {
				return exit.With(exit.Failed)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "the whole result as JSON")
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "work in this directory")
	cmd.Flags().StringVar(&level, "sandbox", "", "confine commands at this level: auto, full, bubblewrap, landlock, off (or ADROIT_SANDBOX)")
	return cmd
}

// maxInput bounds what is read from files and standard input for a job.
const maxInput = 8 << 20

// content is an argument, the file behind @, or standard input for -.
func (a *app) content(arg string) (string, error) {
	var r io.Reader
	switch {
	case arg == "-", arg == "@-":
		r = a.Stdin
	case strings.HasPrefix(arg, "@"):
		f, err := os.Open(arg[1:])
		if err != nil {
			return "", exit.Usagef("@ reads the value from a file", "%v", err)
		}
		defer f.Close()
		r = f
	default:
		return arg, nil
	}
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return "", exit.Fail(fmt.Errorf("reading %s: %w", arg, err), "")
	}
	if len(b) > maxInput {
		return "", exit.Usagef("put it into the workspace and name the file instead", "%s holds more than %d MiB", arg, maxInput>>20)
	}
	return string(b), nil
}

// directory checks and resolves the directory that a job works in.
func directory(dir string) (string, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", exit.Usagef("create it first, or name another with -C", "there is no directory %q", dir)
	case err != nil:
		return "", exit.Usagef("", "%v", err)
	case !info.IsDir():
		return "", exit.Usagef("name its directory with -C", "%q is not a directory", dir)
	}
	return realPath(dir)
}
