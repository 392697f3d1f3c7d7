package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/adroit-run/adroit/internal/text/hint/hinttest"
)

// A printed hint is where the product prints a command, and its template, with X for
// each value.
type printedHint struct{ at, command string }

// TestHints finds by syntax tree each command of adroit that the product can print, in a
// hint, an error, a prompt or a table, and holds it against the real commands: each of its
// words is a command or an argument of one that takes some, and each flag is one of that
// command's. So are those of help pages. The rule hints of internal/dev/lint/vet says that there
// are no others. The scripts of cmd/adroit run them in the states that print them.
func TestHints(t *testing.T) {
	root := Program{}.Command()
	for _, h := range helpHints(t, root) {
		if why := wrong(root, strings.Fields(h.command)); why != "" {
			t.Errorf("%s: adroit %s: %s", h.at, h.command, why)
		}
	}
	templates, err := hinttest.Templates("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range templates {
		command := strings.ReplaceAll(h.Text, "%s", "X")
		if why := wrong(root, strings.Fields(command)); why != "" {
			t.Errorf("%s: adroit %s: %s", h.At, command, why)
		}
	}
}

// A command that is not there, or has no such flag, is found.
func TestWrongHints(t *testing.T) {
	root := Program{}.Command()
	for said, want := range map[string]string{
		"continue X --max-turns N": "", "--data-dir X jobs undo X": "", "run builder -m X X": "", "answer signal X approve": "", "jobs X": "",
		"job resume X": "there is no command job", "jobs resurrect X": "has no command resurrect", "continue X --max-turn N": "has no flag --max-turn", "run -Z": "has no flag -Z", "--serve X jobs": "has no flag --serve",
	} {
		if got := wrong(root, strings.Fields(said)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("adroit %s: %q, want %q", said, got, want)
		}
	}
}

// wrong states what is wrong with a command, "" if nothing is.
func wrong(root *cobra.Command, words []string) string {
	cmd := root
	for len(words) > 0 && strings.HasPrefix(words[0], "--") { // adroit --data-dir DIR jobs
		if why := wrongFlag(cmd, words[0]); why != "" {
			return why
		}
		name, _, given := strings.Cut(words[0][2:], "=")
		if f := cmd.PersistentFlags().Lookup(name); f != nil && f.NoOptDefVal == "" && !given && len(words) > 1 {
			words = words[1:] // its value
		}
		words = words[1:]
	}
	for len(words) > 0 {
		next := child(cmd, words[0])
		if next == nil {
			break
		}
		cmd, words = next, words[1:]
	}
	if cmd == root && len(words) > 0 {
		return "there is no command " + words[0]
	}
	if len(words) > 0 && cmd.HasSubCommands() && !strings.Contains(cmd.Use, " ") && !strings.HasPrefix(words[0], "-") && !strings.Contains(words[0], "X") {
		return cmd.CommandPath() + " has no command " + words[0]
	}
	for _, w := range words {
		if w == "--" {
			return ""
		}
		if why := wrongFlag(cmd, w); why != "" {
			return why
		}
	}
	return ""
}

func child(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name || c.HasAlias(name) {
			return c
		}
	}
	return nil
}

func wrongFlag(cmd *cobra.Command, word string) string {
	name, _, _ := strings.Cut(word, "=")
	name = strings.TrimRight(name, ".,;:)]'\"")
	cmd.InitDefaultHelpFlag()
	switch {
	case strings.HasPrefix(name, "--") && len(name) > 2:
		if cmd.Flags().Lookup(name[2:]) == nil && cmd.InheritedFlags().Lookup(name[2:]) == nil {
			return cmd.CommandPath() + " has no flag " + name
		}
	case len(name) == 2 && name[0] == '-' && name[1] != '-':
		if cmd.Flags().ShorthandLookup(name[1:]) == nil && cmd.InheritedFlags().ShorthandLookup(name[1:]) == nil {
			return cmd.CommandPath() + " has no flag " + name
		}
	}
	return ""
}

// helpHints are the commands in examples, and the names of commands in the other texts
// of help pages.
func helpHints(t *testing.T, cmd *cobra.Command) (out []printedHint) {
	t.Helper()
	at := "help of " + cmd.CommandPath()
	for l := range strings.Lines(cmd.Example) {
		for _, part := range strings.Split(l, "|") {
			if words, ok := strings.CutPrefix(strings.TrimSpace(part), "adroit "); ok {
				words, _, _ = strings.Cut(words, " && ")
				out = append(out, printedHint{at, words})
			}
		}
	}
	text := cmd.Short + "\n" + cmd.Long
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { text += "\n" + f.Usage })
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		words := strings.Fields(m[1])
		if slices.Contains(sentences, words[0]) {
			continue
		}
		n, of := 0, cmd.Root()
		for next := of; n < len(words) && next != nil; {
			if next = child(of, words[n]); next != nil {
				of, n = next, n+1
			}
		}
		out = append(out, printedHint{at, strings.Join(words[:max(n, 1)], " ")})
	}
	for _, c := range cmd.Commands() {
		out = append(out, helpHints(t, c)...)
	}
	return out
}

var (
	named = regexp.MustCompile(`\badroit ([a-z]+(?:\s[a-z]+)?)\b`)
	// sentences are words after which adroit is the subject of a sentence, or its adjective.
	sentences = []string{"registers", "runs", "server", "without"}
)
