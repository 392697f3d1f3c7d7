package define

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/request"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/spf13/cobra"
)

// NewTools returns the command adroit tools.
func NewTools(e *kit.Env) *cobra.Command {
	return kit.Lister("tools", "List, show, check, call and create tools", toolsNewList(e), toolsNewShow(e), newLint(e), newCall(e), newToolPackage(e))
}

func newCall(e *kit.Env) *cobra.Command {
	var asJSON bool
	var dir, level string
	cmd := &cobra.Command{
		Use:   "call NAME [JSON|@FILE|-]",
		Short: "Call a tool in this directory, without a model",
		Long: "Calls a tool in the current directory, or that of -C, and prints the result a model would get.\n" +
			"There is no job, so its changes cannot be undone.",
		Example: "  adroit tools call search '{\"pattern\": \"TODO\"}'",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := Lookup(e, args[0]); err != nil {
				return err
			}
			call := adroit.ToolCall{Name: args[0], Dir: dir, Sandbox: level}
			return request.CallTool(cmd.Context(), e, call, args[1:], hint.Command("tools show %s", args[0])+" lists them", asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "the whole result as JSON")
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "work in this directory")
	cmd.Flags().StringVar(&level, "sandbox", "", "confine commands at this level: auto, full, bubblewrap, landlock, off (or ADROIT_SANDBOX)")
	return cmd
}

func newLint(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "lint",
		Short:   "Check this program's tools and what they require of this machine",
		Example: "  adroit tools lint",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			set, err := tools.NewSet(adroit.ToolsOf(e.Parts)...)
			if err != nil {
				fmt.Fprintln(e.Out, kit.Sanitize(err.Error()))
				return kit.With(kit.Failed)
			}
			missing := tools.Missing(set, tools.OnPath)
			for _, name := range slices.Sorted(maps.Keys(missing)) {
				fmt.Fprintf(e.Out, "warning: %s\n", kit.SanitizeLine(missing[name].Error()))
			}
			fmt.Fprintf(e.Out, "%s, no errors, %s\n", kit.Plural(set.Len(), "tool"), kit.Plural(len(missing), "warning"))
			return nil
		},
	}
}

// A toolView is a tool as --json prints it.
type toolView struct {
	tools.Metadata
	Input json.RawMessage `json:"input"`
}

func toolsNewList(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the tools of this program",
		Example: "  adroit tools list",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			set, err := e.Tools()
			if err != nil {
				return err
			}
			var t kit.Table
			views := []toolView{}
			for tool := range set.All() {
				views = append(views, toolView{tool.Metadata, tool.Input.JSON()})
				t.Row(tool.Name, tool.Category, tool.Needs.String(), kit.FirstSentence(tool.Description))
			}
			if asJSON {
				return kit.JSON(e.Out, views)
			}
			t.Write(e.OutScreen())
			return nil
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}

// Lookup finds a tool by name, with a hint for what else could be meant.
func Lookup(e *kit.Env, name string) (tools.Tool, error) {
	set, err := e.Tools()
	if err != nil {
		return tools.Tool{}, err
	}
	t, ok := set.Lookup(name)
	if !ok {
		help := hint.Command("tools list") + " lists the tools"
		if n := set.Nearest(name); n != "" {
			help = fmt.Sprintf("did you mean %q?", n)
		}
		return t, kit.Usagef(help, "unknown tool %q", name)
	}
	return t, nil
}

func toolsNewShow(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show a tool: what it does, takes and needs",
		Example: "  adroit tools show edit_file",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := Lookup(e, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return kit.JSON(e.Out, toolView{t.Metadata, t.Input.JSON()})
			}
			one, err := tools.NewSet(t)
			if err != nil {
				return err
			}
			fmt.Fprintln(e.Out, strings.TrimSpace(kit.Sanitize(one.Describe(nil))))
			var rows kit.Table
			rows.Row("needs", t.Needs.String())
			rows.Row("effect", string(t.Safe()))
			for _, l := range []struct {
				label string
				names []string
			}{{"requires", t.Requires}, {"consumes", t.Consumes}, {"uses", t.Uses}, {"produces", t.Produces}} {
				if len(l.names) > 0 {
					rows.Row(l.label, strings.Join(l.names, ", "))
				}
			}
			fmt.Fprintln(e.Out)
			rows.Write(e.Out)
			return nil
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}

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
			if slices.ContainsFunc(adroit.ToolsOf(e.Parts), func(t tools.Tool) bool { return t.Name == name }) {
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
			fmt.Fprintf(e.Err, "edit it, then: %sgo test ./%s; a program with it is cli.Program{Parts: parts.All(), Tools: []tools.Tool{%[2]s.Tool}}.Main()\n", before, name)
			return nil
		},
	}
}
