package machine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/spf13/cobra"
)

// NewConfig is adroit config.
func NewConfig(e *kit.Env) *cobra.Command {
	return kit.Lister("config", "Show and set the configuration, and where each value comes from", newShow(e), newGet(e), newSet(e), newPath(e))
}

func newPath(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "path",
		Short:   "Print the path of the configuration file",
		Example: "  $EDITOR \"$(adroit config path)\"",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p := config.Path(e.Getenv)
			if p == "" {
				return kit.Fail(errors.New("there is no home directory to keep a configuration in"), "set HOME or ADROIT_CONFIG")
			}
			fmt.Fprintln(e.Out, p)
			return nil
		},
	}
}

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

func newShow(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show",
		Short:   "List every setting, its value and its origin",
		Example: "  adroit config show --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := e.Config()
			if err != nil {
				return err
			}
			return kit.Print(e.OutScreen(), asJSON, c.Settings(), func(w io.Writer, list []config.Setting) {
				var t kit.Table
				for _, s := range list {
					t.Row(s.Key, s.Value, s.From)
				}
				t.Write(w)
			})
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}

// set sets one value in the configuration file, and returns its path.
func set(e *kit.Env, key, value string) (path string, err error) {
	if path = config.Path(e.Getenv); path == "" {
		return "", kit.Fail(errors.New("there is no home directory to keep a configuration in"), "set HOME or ADROIT_CONFIG")
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if text, err = config.Set(path, text, key, value, e.Parts...); err != nil {
		return "", kit.Usagef(helpOf(err), "%w", err)
	}
	return path, rootfs.WriteFile(path, text)
}

// Keep sets one value in the configuration file, and says where.
func Keep(e *kit.Env, key, value string) error {
	path, err := set(e, key, value)
	if err == nil {
		fmt.Fprintf(e.Err, "%s: %s is kept in %s\n", key, kit.SanitizeLine(value), e.Home(path))
	}
	return err
}

func newSet(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:     "set KEY VALUE",
		Short:   "Set one value in the configuration file",
		Long:    "Sets one value in the configuration file, which is made if it is not there. Comments and\nother values stay as they are. What would be no valid configuration is refused.",
		Example: "  adroit config set mode auto\n  adroit config set limits.time 2h",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && strings.Contains(args[0], "=") {
				return nil
			}
			return cobra.ExactArgs(2)(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 { // KEY=VALUE, as others have it
				args = strings.SplitN(args[0], "=", 2)
			}
			path, err := set(e, args[0], args[1])
			if err != nil {
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

// helpOf returns the hint of a configuration error, "" if it has none.
func helpOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// languages by the ends of names.
var languages = map[string]string{
	".go": "Go", ".py": "Python", ".js": "JavaScript", ".jsx": "JavaScript", ".mjs": "JavaScript", ".ts": "TypeScript", ".tsx": "TypeScript",
	".rs": "Rust", ".java": "Java", ".kt": "Kotlin", ".rb": "Ruby", ".php": "PHP", ".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++", ".hpp": "C++",
	".cs": "C#", ".swift": "Swift", ".ex": "Elixir", ".exs": "Elixir", ".sh": "shell", ".sql": "SQL", ".md": "Markdown",
}

// foreign are directories of what others have written, or a build.
var foreign = []string{"node_modules", "vendor", "target", "dist", "build", "__pycache__", "venv"}

// Bounds of what is looked at.
const (
	maxFiles   = 20_000
	maxFolders = 20 // in the layout
)

// A project describes a project by its files.
type project struct {
	dir       string
	languages map[string]int // files
	folders   map[string]map[string]int
	checks    []check
	unknown   string // why checks are not known
}

// A check is a command that the tools of agents run here.
type check struct {
	Check   string `json:"check"` // format, lint, types, build, tests
	Command string `json:"command"`
}

// survey looks at a project. The commands come from run_check and run_tests;
// nothing of the project is run.
func survey(ctx context.Context, c adroit.Client, dir string) (*project, error) {
	p := &project{dir: dir, languages: map[string]int{}, folders: map[string]map[string]int{}}
	r, err := c.CallTool(ctx, adroit.ToolCall{Name: "run_check", Args: json.RawMessage(`{}`), Dir: dir})
	switch {
	case err != nil:
		p.unknown = err.Error()
	case r.Artifacts["checks"] == nil:
		p.unknown = r.Text // as mode plan refuses it
	default:
		_ = json.Unmarshal(r.Artifacts["checks"], &p.checks) // what is not known is left out of a draft
	}
	left := maxFiles
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil // what cannot be read is not described
		case d.IsDir() && name != dir && (strings.HasPrefix(d.Name(), ".") || slices.Contains(foreign, d.Name())):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		case left == 0:
			return fs.SkipAll
		}
		left--
		language := languages[strings.ToLower(filepath.Ext(name))]
		if language == "" {
			return nil
		}
		p.languages[language]++
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return nil
		}
		if top, _, ok := strings.Cut(filepath.ToSlash(rel), "/"); ok && plain(top) {
			if p.folders[top] == nil {
				p.folders[top] = map[string]int{}
			}
			p.folders[top][language]++
		}
		return nil
	})
	return p, err
}

// plain reports whether a name has nothing that could be more than a name: the
// draft instructs agents.
func plain(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-+@", r)
	}) && len(name) <= 40
}

func (p *project) has(name string) bool {
	_, err := os.Lstat(filepath.Join(p.dir, name))
	return err == nil
}

// command returns the command that runs a kind of check, "" if none is known.
func (p *project) command(kind string) string {
	for _, c := range p.checks {
		if c.Check == kind {
			command := strings.ReplaceAll(kit.SanitizeLine(c.Command), "go test -json", "go test")
			if command == "gofmt -l" { // run_check adds the files; alone it would read standard input
				command += " ."
			}
			return command
		}
	}
	return ""
}

// most lists what there is most of, first.
func most(counts map[string]int) []string {
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	return names
}

// agents is the draft of AGENTS.md.
func (p *project) agents(test string) string {
	var b strings.Builder
	name := filepath.Base(p.dir)
	if !plain(name) {
		name = "This project"
	}
	fmt.Fprintf(&b, "# %s\n\n<!-- A draft of %s. Agents read this first: add what the code does not show, and delete what is wrong. -->\n\n", name, hint.Name("init"))
	var parts []string
	for _, l := range most(p.languages) {
		parts = append(parts, fmt.Sprintf("%s (%s)", l, kit.Plural(p.languages[l], "file")))
	}
	if len(parts) == 0 {
		b.WriteString("There is no code here yet.\n")
	} else {
		fmt.Fprintf(&b, "%s.\n", strings.Join(parts[:min(len(parts), 5)], ", "))
	}
	if len(p.folders) > 0 {
		b.WriteString("\n## Layout\n\n")
		sizes := map[string]int{}
		for name, counts := range p.folders {
			for _, n := range counts {
				sizes[name] += n
			}
		}
		list := most(sizes)
		for _, name := range list[:min(len(list), maxFolders)] {
			fmt.Fprintf(&b, "- `%s/`: %s, mostly %s\n", name, kit.Plural(sizes[name], "file"), most(p.folders[name])[0])
		}
	}
	b.WriteString("\n## Commands\n\n")
	for _, kind := range []string{"tests", "build", "lint", "types", "format"} {
		command := p.command(kind)
		if kind == "tests" {
			command = cmp.Or(strings.TrimSpace(test), command, "not known yet")
		}
		if command != "" {
			fmt.Fprintf(&b, "- %s: `%s`\n", kind, command)
		}
	}
	b.WriteString("\n## Conventions\n\n- A change comes with a test, and all tests pass.\n")
	return b.String()
}
