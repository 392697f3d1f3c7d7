package machine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"
)

// A command is adroit init with its flags.
type command struct {
	dir, test string
	dry       bool
}

// NewSetup returns the command adroit init.
func NewSetup(e *kit.Env) *cobra.Command {
	c := command{dir: "."}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Draft AGENTS.md and a first configuration for a project",
		Long: "Writes a draft of AGENTS.md from what is there: languages, layout, and the commands that test,\n" +
			"check and build the project; with --test also the command in .adroit/validation.yaml; and the\n" +
			"first configuration of the user, if there is none. No model is asked. A file that is there is\n" +
			"never replaced without a question. What is written is trusted as it is.",
		Example: "  adroit init --dry-run\n  adroit init --test \"make check\"",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context(), e) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.dir, "dir", "C", ".", "the project's directory")
	f.StringVar(&c.test, "test", "", "the command that runs the project's tests, if it is not found or another is meant")
	f.BoolVar(&c.dry, "dry-run", false, "print what would be written, and write nothing")
	return cmd
}

func (c *command) run(ctx context.Context, e *kit.Env) error {
	dir, err := kit.Directory(c.dir)
	if err != nil {
		return err
	}
	client, err := e.Client()
	if err != nil {
		return err
	}
	p, err := survey(ctx, client, dir)
	if err != nil {
		return err
	}
	var drafts []File
	switch {
	case !p.has("AGENTS.md") && p.has("CLAUDE.md"):
		fmt.Fprintln(e.Out, "kept     CLAUDE.md instructs agents here; no AGENTS.md is drafted")
	default:
		drafts = append(drafts, File{Name: "AGENTS.md", Text: p.agents(c.test)})
	}
	if t := strings.TrimSpace(c.test); t != "" {
		drafts = append(drafts, File{Name: ".adroit/validation.yaml", Text: fmt.Sprintf("# What run_tests runs here, for all agents. See docs/workflows.md for stages.\ntest: %q\n", t)})
	}
	w := &writer{e: e, dry: c.dry, ask: kit.NewLineReader(ctx, e.In)}
	if w.root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	defer w.root.Close()
	var errs []error
	for _, d := range drafts {
		errs = append(errs, w.write(d))
	}
	errs = append(errs, w.configure())
	if len(w.written) > 0 {
		errs = append(errs, Trust(ctx, client, dir, w.written...))
	}
	switch {
	case p.unknown != "":
		fmt.Fprintln(e.Err, "what checks the project was not looked for: "+kit.SanitizeLine(p.unknown)+"; if that is the mode of the configuration: ADROIT_MODE=edits "+hint.Command("init"))
	case c.test == "" && p.command("tests") == "":
		fmt.Fprintln(e.Err, "no tests were found; if there are some, name the command: "+hint.Command("init --test COMMAND"))
	}
	if !c.dry {
		fmt.Fprintln(e.Err, "read and complete AGENTS.md, then: "+hint.Command("doctor")+"    "+hint.Command("run builder TASK"))
	}
	return errors.Join(errs...)
}

// A writer writes drafts into a project, and replaces nothing unasked.
type writer struct {
	e       *kit.Env
	root    *os.Root // no link leads out of it
	dry     bool
	ask     *kit.LineReader
	written []File
}

func (w *writer) write(d File) error {
	if w.dry {
		fmt.Fprintf(w.e.Out, "--- %s\n%s", d.Name, d.Text)
		return nil
	}
	err := Create(w.root, d)
	if errors.Is(err, fs.ErrExist) {
		return w.replace(d)
	}
	if err != nil {
		return err
	}
	w.written = append(w.written, d)
	fmt.Fprintf(w.e.Out, "written  %s\n", d.Name)
	return nil
}

// replace shows the difference between a file and its draft, and asks. Without a person
// the file is kept.
func (w *writer) replace(d File) error {
	old, err := Read(w.root, d.Name)
	if err != nil {
		return err
	}
	if string(old) == d.Text {
		fmt.Fprintf(w.e.Out, "kept     %s is as it would be drafted\n", d.Name)
		return nil
	}
	if !w.e.Interactive() {
		fmt.Fprintf(w.e.Out, "kept     %s is there; %s prints the draft\n", d.Name, hint.Command("init --dry-run"))
		return nil
	}
	fmt.Fprint(w.e.Err, kit.Sanitize(udiff.Unified(d.Name, d.Name+" (draft)", string(old), d.Text)))
	fmt.Fprintf(w.e.Err, "replace %s by the draft? [y]es, [n]o: ", d.Name)
	word, err := w.ask.ReadLine()
	if a := strings.ToLower(strings.TrimSpace(word)); err != nil || a != "y" && a != "yes" {
		fmt.Fprintf(w.e.Out, "kept     %s\n", d.Name)
		return nil
	}
	if err := Replace(w.root, d, old); err != nil {
		return err
	}
	w.written = append(w.written, d)
	fmt.Fprintf(w.e.Out, "replaced %s\n", d.Name)
	return nil
}

// firstConfig returns the configuration of a new user.
func firstConfig() string {
	return "# The configuration of " + hint.Program() + ". " + hint.Name("config") + ` shows what is in force and where from.
# model: ollama/qwen3:8b      # of requests that name none; else Ollama's first, or a provider with a key
limits:
  time: 1h
  # cost_usd: 2
`
}

// configure writes the user's first configuration.
func (w *writer) configure() error {
	file := config.Path(w.e.Getenv)
	if file == "" {
		return nil
	}
	if w.dry {
		if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(w.e.Out, "--- %s\n%s", w.e.Home(file), firstConfig())
		}
		return nil
	}
	if err := rootfs.MkdirAll(filepath.Dir(file)); err != nil {
		return err
	}
	err := rootfs.CreateFile(file, 0o600, []byte(firstConfig()))
	if errors.Is(err, fs.ErrExist) {
		fmt.Fprintf(w.e.Out, "kept     %s\n", w.e.Home(file))
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(w.e.Out, "written  %s\n", w.e.Home(file))
	return nil
}

// A File is a file to write, by its name below a root: no link leads out of that.
type File struct{ Name, Text string }

// draftMost bounds a file that a draft is compared with, in bytes.
const draftMost = 1 << 20

// Read reads a file that is there.
func Read(root *os.Root, name string) ([]byte, error) {
	f, err := rootfs.OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, draftMost))
}

// Create writes a file that is not there. The error is fs.ErrExist if it is.
func Create(root *os.Root, d File) error {
	if err := root.MkdirAll(path.Dir(d.Name), 0o755); err != nil {
		return err
	}
	return rootfs.CreateIn(root, d.Name, 0o644, []byte(d.Text))
}

// Replace writes a file in place of one that is still as it was seen.
func Replace(root *os.Root, d File, seen []byte) error {
	if now, err := Read(root, d.Name); err != nil || !bytes.Equal(now, seen) {
		return fmt.Errorf("%s has changed meanwhile, and is kept", d.Name)
	}
	return rootfs.ReplaceIn(root, d.Name, 0o644, []byte(d.Text))
}

// Trust trusts files that were written, with the content they were written with.
func Trust(ctx context.Context, c adroit.Client, dir string, written ...File) error {
	st, err := c.Trust(ctx, dir)
	if err != nil {
		return err
	}
	below, err := filepath.Rel(st.Root, st.Dir)
	if err != nil {
		return err
	}
	var files []trust.File
	for _, d := range written {
		sum := sha256.Sum256([]byte(d.Text))
		for _, f := range st.Files {
			if f.Path == path.Join(filepath.ToSlash(below), d.Name) && f.Hash == hex.EncodeToString(sum[:]) {
				files = append(files, f)
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	_, err = c.SetTrust(ctx, adroit.TrustChange{Dir: dir, Files: files, Trust: true})
	return err
}
