package define

import (
	"embed"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// skeletons are the files of a new tool, under the name "skeleton".
//
//go:embed skeleton/skeleton.go skeleton/skeleton_test.go
var skeletons embed.FS

// newName is a name that a tool, a package and a folder can have.
const newName = `^[a-z][a-z0-9_]{0,63}$`

// specialNames mean something to the go command, to the language or to the files here.
var specialNames = []string{"main", "init", "internal", "vendor", "testdata", "tools", "context", "fmt"}

// module is this one, which a tool's package imports.
const module = "github.com/adroit-run/adroit"

var (
	isThis  = lazyregexp.New(`(?m)^module\s+"?` + regexp.QuoteMeta(module) + `"?\s*(?://.*)?$`)
	imports = lazyregexp.New(`(?m)^(?:require)?\s*"?` + regexp.QuoteMeta(module) + `"?\s+v`)
)

// setUp are the commands without which a package in dir cannot be built, each with a
// semicolon.
func setUp(dir string) (string, error) {
	const get = "go get " + module + "@latest; "
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		b, err := os.ReadFile(filepath.Join(at, "go.mod"))
		switch {
		case err == nil && (isThis.Match(b) || imports.Match(b)):
			return "", nil
		case err == nil:
			return get, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		case at == filepath.Dir(at):
			return "go mod init example.com/tools; " + get, nil
		}
	}
}

func newToolPackage(e *kit.Env) *cobra.Command {
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
				return kit.Usagef("use lower case letters, digits and _, as in word_count", "a tool cannot be named %q", name)
			}
			if token.IsKeyword(name) || slices.Contains(specialNames, name) || strings.HasSuffix(name, "_test") {
				return kit.Usagef("choose another name, as in word_count", "%q means something to Go: a package cannot have that name", name)
			}
			if slices.ContainsFunc(e.Own, func(t tools.Tool) bool { return t.Name == name }) {
				return kit.Usagef("choose another name, as in my_"+name, "there is a built-in tool %s, and a program cannot have two", name)
			}
			dir := filepath.Join(e.Here(), name)
			if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
				return kit.Fail(fmt.Errorf("%s is there already", e.Home(dir)), "choose another name")
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
			before, err := setUp(e.Here())
			if err != nil {
				return err
			}
			fmt.Fprintf(e.Err, "edit it, then: %sgo test ./%s; a program with it is cli.Main(append(std.All(), %[2]s.Tool)...)\n", before, name)
			return nil
		},
	}
}
