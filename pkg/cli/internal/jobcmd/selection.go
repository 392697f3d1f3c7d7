package jobcmd

import (
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"

	"strings"

	"github.com/spf13/cobra"
)

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
