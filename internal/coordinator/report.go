package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/hint"
)

// Markdown is the result for a person: what failed, what was tried and why it did
// not help, what to look at and how to go on. job is the one that it is of.
func (r Result) Markdown(job string) string {
	var b strings.Builder
	title := map[string]string{Passed: "It works", Fixed: "It works again", Escalated: "A person has to go on", Aborted: "Given up, as a person said", Unanswered: "Nobody answered", Failed: "It could not be repaired"}[r.Status]
	fmt.Fprintf(&b, "# %s\n\nCommand: %s\n", title, code(r.Command))
	if r.Reason != "" {
		fmt.Fprintf(&b, "\n## What failed\n\n%s\n", quote(r.Reason))
	}
	if p := r.Problem; p != nil {
		fmt.Fprintf(&b, "\nType: %s. %s\n", p.Type, plain(p.Message))
		if len(p.Files) > 0 {
			fmt.Fprintf(&b, "Files that it names: %s\n", names(p.Files))
		}
		if out := strings.TrimSpace(tail(p.Output, 3000)); out != "" {
			fmt.Fprintf(&b, "\nThe end of its output:\n\n%s\n", indent(out))
		}
	}
	if len(r.Attempts) > 0 {
		b.WriteString("\n## What was tried\n\n")
	}
	for i, a := range r.Attempts {
		fmt.Fprintf(&b, "%d. %s", i+1, a.Action.Decision)
		if a.Action.Agent != "" {
			b.WriteString(" to " + a.Action.Agent)
		}
		fmt.Fprintf(&b, " (%s): %s\n", a.Action.By, plain(a.Action.Reasoning))
		if r := a.Review; r != nil {
			fmt.Fprintf(&b, "   - the supervisor: %s: %s\n", plain(r.Verdict), plain(r.Reasoning))
			if r.Of != nil {
				fmt.Fprintf(&b, "   - instead of %s %s (%s): %s\n", r.Of.Decision, r.Of.Agent, r.Of.By, plain(r.Of.Reasoning))
			}
		}
		if m := a.Repair; m != nil {
			fmt.Fprintf(&b, "   - %s: %s", cmp.Or(m.Agent, code(a.Action.Run)), m.Status)
			if m.Reason != "" && m.Status != "done" {
				b.WriteString(": " + plain(m.Reason))
			}
			if len(m.Changed) > 0 {
				b.WriteString("; changed " + plain(strings.Join(m.Changed, ", ")))
			}
			b.WriteString("\n")
			if m.Summary != "" && m.Agent != "" && (r.Solved || m != r.lastRepair()) {
				fmt.Fprintf(&b, "   - it reports: %s\n", plain(m.Summary))
			}
		}
		if a.Answer != "" {
			fmt.Fprintf(&b, "   - a person answered: %s\n", strings.TrimSpace(a.Answer+" "+plain(a.Words)))
		}
		if w := outcomes[a.Outcome]; w != "" {
			fmt.Fprintf(&b, "   - %s\n", w)
		}
		if len(a.Undone) > 0 {
			fmt.Fprintf(&b, "   - undone: %s\n", plain(strings.Join(a.Undone, ", ")))
		}
		for _, k := range a.Kept {
			fmt.Fprintf(&b, "   - not undone: %s\n", plain(k))
		}
	}
	if !r.Solved {
		b.WriteString("\n## How to go on\n\n")
		if r.Hint != "" {
			b.WriteString(plain(r.Hint) + "\n")
		}
		b.WriteString("Repair it and run the command again, or `" + hint.Name("jobs retry %s", job) + "` for another round.\n")
	}
	if m := r.lastRepair(); m != nil && !r.Solved {
		fmt.Fprintf(&b, "\n## What %s said last\n\n%s\n", plain(m.Agent), quote(m.Summary))
	}
	return b.String()
}

// lastRepair is the last one of an agent that said something, nil if there is none.
func (r Result) lastRepair() *Repair {
	for _, a := range slices.Backward(r.Attempts) {
		if m := a.Repair; m != nil && m.Agent != "" && m.Summary != "" && a.Action.Replay == "" {
			return m
		}
	}
	return nil
}

var outcomes = map[string]string{"works": "it works after that", failsOtherwise: "it fails in another way after that", "same": "it fails as before", "no change": "nothing was changed, so it was not run again"}

// plain is text on one line without what Markdown would take for markup.
func plain(s string) string {
	return strings.NewReplacer("`", "'", "<", "&lt;", "*", `\*`, "[", `\[`, "#", `\#`, "_", `\_`).Replace(strings.Join(strings.Fields(s), " "))
}

// names lists files. One with brackets or the like is code, so that it can be copied.
func names(files []string) string {
	var out []string
	for _, f := range files {
		if plain(f) != f && !strings.ContainsAny(f, " \t\n()<>`#") {
			out = append(out, code(f))
		} else {
			out = append(out, plain(f))
		}
	}
	return strings.Join(out, ", ")
}

func code(s string) string {
	return "`" + strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "`", "'") + "`"
}

func quote(s string) string { return "> " + plain(s) }

func indent(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }
