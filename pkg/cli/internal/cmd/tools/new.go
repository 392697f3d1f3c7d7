package tools

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/pkg/cli/internal/env"
	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
)

// skeletons are the files of a new tool, under the name "skeleton".
//
//go:embed skeleton/skeleton.go skeleton/skeleton_test.go
var skeletons embed.FS

// newName is a name that a tool, a package and a folder can have.
const newName = `^[a-z][a-z0-9_]{0,63}$`

func newNew(e *env.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "new NAME",
		Short: "Create a Go package with a tool and its test",
		Long: "Writes a package for a tool into a new folder NAME here, with a test that checks what\n" +
			"agents rely on. A program that has the tool is one line: docs/tools.md shows it.",
		Example: "  adroit tools new word_count && go test ./word_count",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if !regexp.MustCompile(newName).MatchString(name) {
				return exit.Usagef("use lower case letters, digits and _, as in word_count", "a tool cannot be named %q", name)
			}
			dir := filepath.Join(e.Here(), name)
			if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
				return exit.Fail(fmt.Errorf("%s is there already", e.Home(dir)), "choose another name")
			} else if err != nil {
				return err
			}
			for _, end := range []string{".go", "_test.go"} {
				b, err := skeletons.ReadFile("skeleton/skeleton" + end)
				if err != nil {
					return err
				}
				file := filepath.Join(dir, name+end)
				if err := rootfs.CreateFile(file, 0o644, []byte(strings.ReplaceAll(string(b), "skeleton", name))); err != nil {
					return err
				}
				fmt.Fprintln(e.Out, file)
			}
			fmt.Fprintf(e.Err, "edit it, then: go test ./%s; a program with it is cli.Main(append(std.All(), %[1]s.Tool)...)\n", name)
			return nil
		},
	}
}
