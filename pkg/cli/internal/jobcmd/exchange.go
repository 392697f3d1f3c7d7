package jobcmd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/spf13/cobra"
)

func newExport(e *kit.Env) *cobra.Command {
	var s selection
	cmd := &cobra.Command{
		Use:     "export",
		Short:   "Print facts as JSON, one a line",
		Example: "  adroit agents memory export > facts.jsonl",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.read(nil); err != nil {
				return err
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			found, err := c.Facts(cmd.Context(), s.FactQuery)
			if err != nil {
				return err
			}
			for _, f := range found {
				b, err := json.Marshal(f)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(e.Out, "%s\n", b); err != nil {
					return err
				}
			}
			return nil
		},
	}
	s.add(cmd)
	return cmd
}

// Bounds of a file of facts.
const (
	maxLine = 8 << 10
	batch   = 500 // facts a call
)

func newImport(e *kit.Env) *cobra.Command {
	var asJSON bool
	var dir string
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Add the facts of a file that export printed",
		Long: "Adds facts to the project of this directory, whatever project they were of. They are marked as\n" +
			"untrusted: anybody may have written the file. A line that is not a fact, or that holds what\n" +
			"looks like a secret, is refused and the others are added.",
		Example: "  adroit agents memory import facts.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := kit.Directory(dir)
			if err != nil {
				return err
			}
			in := e.In
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return kit.Usagef("name a file that "+hint.Command("agents memory export")+" printed", "%v", err)
				}
				defer f.Close()
				in = f
			}
			c, err := e.Client()
			if err != nil {
				return err
			}
			total := &report{}
			add := func(facts []memory.Fact) error {
				added, refused, err := c.ImportFacts(cmd.Context(), root, facts)
				total.Added, total.Known, total.Refused = total.Added+added, total.Known+len(facts)-added-len(refused), append(total.Refused, refused...)
				return err
			}
			if err := readFacts(in, add, func(why string) { total.Refused = append(total.Refused, why) }); err != nil {
				return err
			}
			if err := kit.Print(e.Out, asJSON, total, printImport); err != nil {
				return err
			}
			if len(total.Refused) > 0 {
				return kit.Fail(fmt.Errorf("%s refused", kit.Plural(len(total.Refused), "line")), "")
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "to the project of this directory")
	kit.JSONFlag(cmd, &asJSON)
	return cmd
}

// readFacts passes on the facts of a file in batches, and what is none.
func readFacts(in io.Reader, add func([]memory.Fact) error, refuse func(why string)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	var facts []memory.Fact
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var f memory.Fact
		dec := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&f); err != nil {
			refuse(fmt.Sprintf("line %d is not a fact: %v", n, err))
			continue
		}
		if facts = append(facts, f); len(facts) == batch {
			if err := add(facts); err != nil {
				return err
			}
			facts = nil
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		refuse(fmt.Sprintf("a line has more than %d bytes; it and what follows is not read", maxLine))
	} else if err != nil {
		return kit.Fail(err, "")
	}
	if len(facts) == 0 {
		return nil
	}
	return add(facts)
}

// A report is the result of an import.
type report struct {
	Added   int      `json:"added"`
	Known   int      `json:"known"` // that were there
	Refused []string `json:"refused,omitempty"`
}

func printImport(w io.Writer, r *report) {
	fmt.Fprintf(w, "added %s, %d known\n", kit.Plural(r.Added, "fact"), r.Known)
	const most = 20
	for i, why := range r.Refused {
		if i == most {
			fmt.Fprintf(w, "and %d more\n", len(r.Refused)-most)
			break
		}
		fmt.Fprintf(w, "refused: %s\n", kit.SanitizeLine(why))
	}
}

// A selection is the flags that select facts.
type selection struct {
	adroit.FactQuery
	dir string
}

func (s *selection) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&s.dir, "dir", "C", ".", "of the project of this directory, and the user's")
	f.StringVar((*string)(&s.Scope), "scope", "", "only these: project or user")
	f.StringVar((*string)(&s.Kind), "kind", "", "only these: fact, command, convention, decision, pitfall, preference, summary")
	f.StringVar(&s.Job, "job", "", "only those that this job noted")
	f.BoolVar(&s.All, "all", false, "of every project")
}

// read completes the query.
func (s *selection) read(words []string) (err error) {
	s.Text = strings.Join(words, " ")
	if !s.All {
		s.Dir, err = kit.Directory(s.dir)
	}
	return err
}
