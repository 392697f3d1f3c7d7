package jobcmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// NewMemory returns the command adroit agents memory.
func NewMemory(e *kit.Env) *cobra.Command {
	return kit.Lister("memory", "See and change what jobs noted for later jobs", memoryNewList(e), memoryNewShow(e), newAdd(e), newEdit(e), newForget(e), newExport(e), newImport(e))
}

func memoryNewList(e *kit.Env) *cobra.Command {
	var asJSON bool
	var s selection
	cmd := &cobra.Command{
		Use:   "list [WORD...]",
		Short: "List what is remembered, or search it",
		Long: "Lists the facts that jobs and people noted about this project and its user, the newest first;\n" +
			"with words, those that have any of them, the best first. A fact is stale when the file that\n" +
			"showed it has changed or is gone, and untrusted when its author had read what others wrote.",
		Example: "  adroit agents memory list\n  adroit agents memory list run tests",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.read(args); err != nil {
				return err
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			s.Verify = true
			found, err := c.Facts(cmd.Context(), s.FactQuery)
			if err != nil {
				return err
			}
			return kit.Print(e.Out, asJSON, found, func(w io.Writer, found []memory.Fact) { printFacts(w, found, e.Now()) })
		},
	}
	s.add(cmd)
	cmd.Flags().IntVar(&s.Limit, "limit", 50, "at most this many")
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}

func printFacts(w io.Writer, found []memory.Fact, now time.Time) {
	if len(found) == 0 {
		fmt.Fprintln(w, "Nothing is remembered. Agents with memory: project in their file note what they find out; so does "+hint.Command("agents memory add")+".")
		return
	}
	var t kit.Table
	for _, f := range found {
		var marks []string
		if f.Untrusted {
			marks = append(marks, "untrusted")
		}
		if f.Stale != "" {
			marks = append(marks, "stale")
		}
		kind := string(f.Kind)
		if f.Scope == memory.User {
			kind += " (user)"
		}
		t.Row(f.ID, kind, kit.Ago(now, f.Created), strings.Join(marks, ", "), kit.SanitizeLine(f.Text))
	}
	t.Write(w)
}

func memoryNewShow(e *kit.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show a fact with its evidence",
		Example: "  adroit agents memory show k3v7qd2m5x",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			found, err := c.Facts(ctx, adroit.FactQuery{ID: args[0], Verify: true})
			if err != nil {
				return err
			}
			return kit.Print(e.Out, asJSON, found[0], printFact)
		}),
	}
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}

func printFact(w io.Writer, f memory.Fact) {
	var t kit.Table
	row := func(name, value string) {
		if value != "" {
			t.Row(name, kit.SanitizeLine(value))
		}
	}
	row("id", f.ID)
	row("text", f.Text)
	row("kind", string(f.Kind))
	row("scope", string(f.Scope))
	row("project", f.Project)
	row("confidence", string(f.Confidence))
	if f.Untrusted {
		row("trust", "untrusted: its author had read what others wrote")
	}
	row("noted", f.Created.Local().Format(time.DateTime))
	row("job", f.Job)
	row("step", f.Step)
	row("file", f.File)
	row("digest", f.Digest)
	row("stale", f.Stale)
	t.Write(w)
}

func newAdd(e *kit.Env) *cobra.Command {
	var asJSON, user bool
	var n adroit.FactNote
	cmd := &cobra.Command{
		Use:   "add TEXT",
		Short: "Remember a fact yourself",
		Long: "Keeps a fact for later jobs of this project, or of all with --user. What you add is trusted;\n" +
			"what looks like a secret is refused.",
		Example: "  adroit agents memory add \"tests run with make fast\" --kind command --file Makefile\n  adroit agents memory add --user \"answer in British English\"",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if n.Text = strings.Join(args, " "); user {
				n.Scope = memory.User
			}
			if n.Dir, err = kit.Directory(n.Dir); err != nil {
				return err
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			f, err := c.Remember(cmd.Context(), n)
			if err != nil {
				return err
			}
			return kit.Print(e.Out, asJSON, f, func(w io.Writer, f *memory.Fact) { fmt.Fprintln(w, f.ID) })
		},
	}
	f := cmd.Flags()
	f.StringVarP(&n.Dir, "dir", "C", ".", "of the project of this directory")
	f.BoolVar(&user, "user", false, "it holds in all projects")
	f.StringVar((*string)(&n.Kind), "kind", "", "fact, command, convention, decision, pitfall, preference")
	f.StringVar((*string)(&n.Confidence), "confidence", "", "low, medium, high")
	f.StringVar(&n.File, "file", "", "the file that shows it; the fact is stale once it changes")
	f.StringVar(&n.Replaces, "replaces", "", "the id of a fact that it corrects")
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}

func newEdit(e *kit.Env) *cobra.Command {
	var asJSON bool
	var change adroit.FactNote
	cmd := &cobra.Command{
		Use:   "edit ID [TEXT]",
		Short: "Correct a fact",
		Long: "Puts a fact with another text, kind, confidence or file in the place of one; the rest stays.\n" +
			"A text that you write is trusted. The file that shows the fact is read again.",
		Example: "  adroit agents memory edit k3v7qd2m5x \"tests run with make quick\"\n  adroit agents memory edit k3v7qd2m5x --kind pitfall --file \"\"",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args[1:], " ")
			given := cmd.Flags().Changed
			c, err := e.Client()
			if err != nil {
				return err
			}
			found, err := c.Facts(cmd.Context(), adroit.FactQuery{ID: args[0]})
			if err != nil {
				return err
			}
			f := found[0]
			if text == "" && !given("kind") && !given("confidence") && !given("file") {
				return kit.Usagef(hint.Command("agents memory edit %s \"the text that is right\"", f.ID), "nothing is to be changed")
			}
			n := adroit.FactNote{Fact: memory.Fact{Scope: f.Scope, Kind: f.Kind, Text: f.Text, Confidence: f.Confidence, Untrusted: f.Untrusted, Evidence: memory.Evidence{File: f.File}}, Replaces: f.ID, Dir: f.Project}
			if text != "" {
				n.Text, n.Untrusted = text, false
			}
			if given("kind") {
				n.Kind = change.Kind
			}
			if given("confidence") {
				n.Confidence = change.Confidence
			}
			if given("file") {
				n.File = change.File
			}
			now, err := c.Remember(cmd.Context(), n)
			if err != nil {
				return err
			}
			return kit.Print(e.Out, asJSON, now, func(w io.Writer, f *memory.Fact) { fmt.Fprintln(w, f.ID) })
		},
	}
	f := cmd.Flags()
	f.StringVar((*string)(&change.Kind), "kind", "", "fact, command, convention, decision, pitfall, preference")
	f.StringVar((*string)(&change.Confidence), "confidence", "", "low, medium, high")
	f.StringVar(&change.File, "file", "", "the file that shows it, from the project's top; \"\" for none")
	kit.AllowEmpty(f, "file")
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}

func newForget(e *kit.Env) *cobra.Command {
	var s selection
	cmd := &cobra.Command{
		Use:   "forget [ID...]",
		Short: "Forget facts",
		Long: "Removes facts for good: those named, or with --job, --kind or --scope all of that kind in this\n" +
			"project. --all alone forgets everything.",
		Example: "  adroit agents memory forget k3v7qd2m5x\n  adroit agents memory forget --kind summary",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.read(nil); err != nil {
				return err
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			queries := []adroit.FactQuery{s.FactQuery}
			if len(args) > 0 {
				if s.Kind != "" || s.Scope != "" || s.Job != "" || s.All {
					return kit.Usagef("name facts, or select them", "facts are named and selected at once")
				}
				queries = nil
				for _, id := range args {
					queries = append(queries, adroit.FactQuery{ID: id})
				}
			}
			total := 0
			for _, q := range queries {
				n, err := c.Forget(cmd.Context(), q)
				if err != nil {
					return err
				}
				total += n
			}
			fmt.Fprintf(e.Out, "forgot %s\n", kit.Plural(total, "fact"))
			return nil
		},
	}
	s.add(cmd)
	return cmd
}
