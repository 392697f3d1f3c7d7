package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// Changes names what was changed, and not everything of much.
func Changes(cs []ledger.Change) string {
	var parts []string
	for i, c := range cs {
		if i == 6 {
			parts = append(parts, fmt.Sprintf("and %d more", len(cs)-i))
			break
		}
		what := string(c.Kind) + " " + c.Path
		if c.Kind == ledger.Renamed {
			what = "renamed " + c.From + " to " + c.Path
		}
		if c.Uncertain {
			what += " (uncertain)"
		}
		parts = append(parts, what)
	}
	return strings.Join(parts, ", ")
}

// Steps renders the steps that changed files.
func Steps(w io.Writer, list []adroit.Step) {
	var t kit.Table
	for _, s := range list {
		what := Changes(s.Changes)
		for _, c := range s.Dirs {
			what = strings.TrimPrefix(what+", "+dirChange(c), ", ")
		}
		for _, r := range s.Refs {
			what = strings.TrimPrefix(what+", "+refChange(r), ", ")
		}
		t.Row(s.Step, s.Name, what)
	}
	t.Write(w)
}

// Diff renders a diff: escaped and in colour on a terminal, byte for byte into a
// pipe, so that git apply takes it.
func Diff(s *kit.Screen, diff string) {
	if !s.IsTerminal() {
		fmt.Fprint(s, diff)
		return
	}
	for l := range strings.Lines(diff) {
		style := kit.Plain
		switch {
		case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"), strings.HasPrefix(l, "diff "):
			style = kit.Bold
		case strings.HasPrefix(l, "+"):
			style = kit.Green
		case strings.HasPrefix(l, "-"):
			style = kit.Red
		case strings.HasPrefix(l, "@@"):
			style = kit.Dim
		}
		fmt.Fprintln(s, s.Paint(style, kit.Sanitize(strings.TrimSuffix(l, "\n"))))
	}
}

// Uncertain renders, in lines that git apply passes over, the uncertain changes
// that a diff leaves out, and reports whether there are any.
func Uncertain(w io.Writer, cs []ledger.Change) (any bool) {
	for _, c := range cs {
		if c.Uncertain {
			any = true
			fmt.Fprintf(w, "# uncertain: %s %s while step %s ran, perhaps by somebody else\n", c.Kind, kit.Path(c.Path), kit.SanitizeLine(c.Step))
		}
	}
	return any
}

// Dirs renders the changes of directories, of which git's diffs know nothing, in lines that git
// apply passes over.
func Dirs(w io.Writer, cs []ledger.Change) {
	for _, c := range cs {
		fmt.Fprintf(w, "# %s\n", dirChange(c))
	}
}

func dirChange(c ledger.Change) string {
	what := fmt.Sprintf("%s directory %s", c.Kind, kit.Path(c.Path))
	if c.Kind == ledger.Modified {
		what = fmt.Sprintf("changed permissions of directory %s from %04o to %04o", kit.Path(c.Path), c.OldMode, c.Mode)
	}
	if c.Uncertain {
		what += " (uncertain)"
	}
	return what
}

// maxPaths bounds how many paths of a commit are listed.
const maxPaths = 20

// Refs renders, in lines that git apply passes over, what a job did to branches, tags
// and the like, and its commits.
func Refs(w io.Writer, d *adroit.Diff) {
	for _, r := range d.Refs {
		fmt.Fprintf(w, "# %s\n", kit.SanitizeLine(refChange(r)))
	}
	for _, c := range d.Commits {
		fmt.Fprintf(w, "# commit %.10s %s\n", c.ID, kit.SanitizeLine(c.Subject))
		for _, list := range []struct {
			names []string
			what  string
		}{{c.Guarded, "which programs outside of the sandbox run or obey once it is checked out"}, {c.Unlisted, "which is not among the files that the job changed"}} {
			for i, p := range list.names {
				if i == maxPaths {
					fmt.Fprintf(w, "#   and %d more, each of %s\n", len(list.names)-i, list.what)
					break
				}
				fmt.Fprintf(w, "#   has %s, %s\n", kit.Path(p), list.what)
			}
		}
	}
}

// refChange renders what was done to a reference.
func refChange(r ledger.Change) string {
	value := func(v string) string {
		if to, ok := strings.CutPrefix(v, "ref: "); ok {
			return to
		}
		return fmt.Sprintf("%.10s", v)
	}
	what := ""
	switch {
	case r.Path == ledger.IndexRef:
		what = "changed what is staged"
	case r.After == ledger.UnderWay:
		what = "left git with something under way: " + r.Path
	case r.Before == ledger.UnderWay:
		what = "ended what git had under way: " + r.Path
	case ledger.GitFile(r.Path):
		what = map[ledger.Kind]string{ledger.Created: "made ", ledger.Modified: "changed ", ledger.Deleted: "removed "}[r.Kind] + r.Path + " in the git directory"
	case r.Before == "":
		what = "made " + r.Path + " at " + value(r.After)
	case r.After == "":
		what = "removed " + r.Path + ", which was at " + value(r.Before)
	default:
		what = "moved " + r.Path + " from " + value(r.Before) + " to " + value(r.After)
	}
	if r.Uncertain {
		what += " (uncertain)"
	}
	return what
}

// Undo renders what an undo did to w, and how to undo it to help.
func Undo(w, help io.Writer, r *adroit.UndoReport) {
	for _, p := range r.Restored {
		fmt.Fprintf(w, "restored %s\n", kit.Path(p))
	}
	for _, p := range r.Removed {
		fmt.Fprintf(w, "removed %s\n", kit.Path(p))
	}
	for _, c := range r.Moved {
		fmt.Fprintf(w, "%s\n", kit.SanitizeLine(refChange(c)))
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(w, "left alone %s: %s\n", kit.Path(s.Path), kit.SanitizeLine(s.Reason))
	}
	switch {
	case r.Step != "":
		fmt.Fprintf(help, "%s takes this back\n", hint.Command("jobs undo %s --step %s", r.Job, r.Step))
	case len(r.Skipped) == 0:
		fmt.Fprintf(help, "%s has nothing left to undo\n", r.Job)
	}
}

// CommitsKept renders the commits of a job, which an undo leaves.
func CommitsKept(w io.Writer, commits []string) {
	for _, c := range commits {
		fmt.Fprintf(w, "its commit %s stays: an undo changes files only; git revert %s takes it back\n", kit.SanitizeLine(c), kit.SanitizeLine(strings.Fields(c + " HEAD")[0]))
	}
}

// Merge renders the files that a merge changed to w, and what it did to summary.
func Merge(w, summary io.Writer, m *adroit.MergeReport, home func(string) string) {
	for _, p := range m.Left {
		fmt.Fprintf(summary, "not merged: %s is in a submodule, or git ignores it\n", kit.Path(p))
	}
	if len(m.Left) > 0 {
		fmt.Fprintf(summary, "%s | git apply --include=PATH brings one\n", hint.Command("jobs diff %s", m.Job))
	}
	if m.Commit == "" {
		rest := "nothing"
		if len(m.Left) > 0 {
			rest = "nothing else"
		}
		fmt.Fprintf(summary, "%s has %s that %s does not have\n", m.Job, rest, m.Into)
		return
	}
	for _, p := range m.Paths {
		fmt.Fprintf(w, "%s\n", kit.Path(p))
	}
	for _, p := range m.Hidden {
		fmt.Fprintf(summary, "%s is in the commit, not on disk: it is outside of the sparse checkout\n", kit.Path(p))
	}
	if len(m.Hidden) > 0 {
		fmt.Fprintln(summary, "git sparse-checkout add DIR, or git sparse-checkout disable, brings them")
	}
	fmt.Fprintf(summary, "%s merged into %s of %s as %.10s    %s\n", kit.Plural(len(m.Paths), "file"), kit.SanitizeLine(m.Into), kit.SanitizeLine(home(m.Repo)), kit.SanitizeLine(m.Commit), hint.Command("jobs rm %s", m.Job))
}
