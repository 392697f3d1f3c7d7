package define

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// A Noun is what is listed, shown or checked.
type Noun struct {
	Word string // in the plural
	Dirs string // where a project has its own
	Ext  string // of its files, as in .md
}

// isFile reports whether an argument is the path of a file by its form.
func (n Noun) isFile(arg string) bool {
	return strings.Contains(arg, "/") || strings.HasSuffix(arg, n.Ext)
}

func (n Noun) one() string { return strings.TrimSuffix(n.Word, "s") }

// trust adds the flag that makes a command read the directory's own.
func (n Noun) trust(cmd *cobra.Command, in *adroit.Scope) {
	cmd.Flags().BoolVar(&in.Trust, "trust-project", false, "also read the "+n.Word+" in "+n.Dirs+" here")
}

// List makes adroit NOUN list. after, which may be nil, sees what was listed for
// people.
func List[T any](e *kit.Env, n Noun, list func(adroit.Client, context.Context, adroit.Scope) (*adroit.Listing[T], error), text func(w io.Writer, items []T), after func(l *adroit.Listing[T])) *cobra.Command {
	var asJSON bool
	in := adroit.Scope{}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the " + n.Word,
		Example: "  adroit " + n.Word + " list --json",
		Args:    cobra.NoArgs,
		RunE: e.With(func(ctx context.Context, c adroit.Client, _ []string) error {
			in.Dir = e.Here()
			found, err := list(c, ctx, in)
			if err != nil {
				return err
			}
			err = kit.Print[[]T](e.OutScreen(), asJSON, found.Items, text)
			if err == nil && !asJSON && after != nil {
				after(found)
			}
			return err
		}),
	}
	kit.JSONFlag(cmd, &asJSON)
	n.trust(cmd, &in)
	return cmd
}

// Show makes a command about one by its name, which write prints.
func Show[T any](e *kit.Env, n Noun, use, short string, show func(adroit.Client, context.Context, adroit.Named) (T, error), write func(io.Writer, T) error) *cobra.Command {
	in := adroit.Named{}
	cmd := &cobra.Command{
		Use:   use + " NAME",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			in.Name, in.Dir = args[0], e.Here()
			v, err := show(c, ctx, in)
			if err != nil {
				return err
			}
			return write(e.Out, v)
		}),
	}
	n.trust(cmd, &in.Scope)
	return cmd
}

// Lint makes adroit NOUN lint.
func Lint(e *kit.Env, n Noun, lint func(adroit.Client, context.Context, adroit.LintRequest) (*adroit.LintReport, error), short, hint string) *cobra.Command {
	var asJSON bool
	in := adroit.LintRequest{}
	cmd := &cobra.Command{
		Use:     "lint [FILE|NAME...]",
		Short:   short,
		Example: "  adroit " + n.Word + " lint\n  adroit " + n.Word + " lint ./mine" + n.Ext,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Dir = e.Here()
			for _, name := range args {
				b, ok, err := n.ReadFile(name)
				if !ok {
					in.Names = append(in.Names, name)
					continue
				}
				if err != nil {
					return kit.Usagef(hint, "%v", err)
				}
				in.Files = append(in.Files, adroit.LintFile{Name: name, Text: b})
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			r, err := lint(c, cmd.Context(), in)
			if err != nil {
				return err
			}
			if asJSON {
				if err := kit.JSON(e.Out, r.Problems); err != nil {
					return err
				}
			} else {
				for _, p := range r.Problems {
					fmt.Fprintln(e.Out, kit.Sanitize(p.String()))
				}
				wrong := 0 // a note is no problem
				for _, p := range r.Problems {
					if p.Severity != agents.Note {
						wrong++
					}
				}
				fmt.Fprintf(e.Err, "%s, %s\n", kit.Plural(r.Checked, n.one()), kit.Plural(wrong, "problem"))
			}
			if r.Problems.Err() != nil {
				return kit.With(kit.Failed)
			}
			return nil
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	n.trust(cmd, &in.Scope)
	return cmd
}

// ReadFile reads the file that an argument names, if it is one by its form or there
// is one.
func (n Noun) ReadFile(arg string) (text []byte, ok bool, err error) {
	text, err = readBounded(arg)
	if errors.Is(err, fs.ErrNotExist) && !n.isFile(arg) {
		return nil, false, nil
	}
	return text, true, err
}

// readBounded reads a file as far as an agent or a pipeline may be long, and a
// byte more.
func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<20+1))
}
