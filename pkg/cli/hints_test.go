package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
)

// A hint is a command of adroit in the text of an expression, with X for what is not
// known before it is printed.
type printedHint struct{ at, command string }

// TestHints finds by syntax tree each command of adroit that the product can print, in a
// hint, an error, a prompt or a table, and holds it against the real commands: each of
// its words is a command or an argument of one that takes some, and each flag is one of
// that command's.
func TestHints(t *testing.T) {
	root := Program{}.Command()
	hints := printedHints(t)
	if len(hints) < 150 {
		t.Errorf("only %d commands are found: are these the files?", len(hints))
	}
	sentences, unrun := linesOf(t, "testdata/hints/sentences.txt"), linesOf(t, "testdata/hints/unrun.txt")
	run := scripted(t, root)
	met, left := map[string]bool{}, map[string]bool{}
	for _, h := range hints {
		words := strings.FieldsFunc(h.command, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
		if len(words) == 0 || strings.HasPrefix(words[0], "X") {
			continue
		}
		if slices.Contains(sentences, words[0]) && !isCommand(root, words[0]) {
			met[words[0]] = true
			continue // adroit is the subject of a sentence
		}
		if why := wrong(root, words); why != "" {
			t.Errorf("%s: adroit %s: %s", h.at, h.command, why)
			continue
		}
		cmd, flags := shape(root, words)
		name := strings.Join(append([]string{cmd}, flags...), " ")
		if slices.ContainsFunc(run[cmd], func(of []string) bool {
			return !slices.ContainsFunc(flags, func(f string) bool { return !slices.Contains(of, f) })
		}) {
			continue
		}
		left[name] = true
		if !slices.Contains(unrun, name) {
			t.Errorf("%s: no script in cmd/adroit/testdata runs %q, which is printed here: run it in the state that prints it", h.at, name)
		}
	}
	for _, name := range unrun {
		if !left[name] {
			t.Errorf("testdata/hints/unrun.txt: %q is run, or printed no more: take it off the list", name)
		}
	}
	for _, word := range sentences {
		if !met[word] {
			t.Errorf("testdata/hints/sentences.txt: no sentence goes on with %q: take it off the list", word)
		}
	}
}

// A command that is not there, or has no such flag, is found.
func TestWrongHints(t *testing.T) {
	root := Program{}.Command()
	for said, want := range map[string]string{
		"jobs resume X --max-turns N": "", "--data-dir X jobs undo X": "", "run builder -m X X": "", "signal X approve": "", "jobs X": "",
		"job resume X": "there is no command job", "jobs resurrect X": "has no command resurrect", "jobs resume X --max-turn N": "has no flag --max-turn", "run -Z": "has no flag -Z", "--serve X jobs": "has no flag --serve",
	} {
		if got := wrong(root, strings.Fields(said)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("adroit %s: %q, want %q", said, got, want)
		}
	}
}

// shape is the command that words name, and the flags they give it.
func shape(root *cobra.Command, words []string) (path string, flags []string) {
	cmd := root
	for i, w := range words {
		next := child(cmd, w)
		if next == nil {
			if cmd != root || i > 3 {
				break
			}
			continue
		}
		cmd = next
	}
	for _, w := range words {
		if w == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimRight(w, ".,;:)]'\""), "=")
		switch {
		case strings.HasPrefix(name, "--") && len(name) > 2:
			flags = append(flags, name)
		case len(name) == 2 && name[0] == '-':
			if f := cmd.Flags().ShorthandLookup(name[1:]); f != nil {
				flags = append(flags, "--"+f.Name)
			}
		}
	}
	slices.Sort(flags)
	return cmd.CommandPath(), slices.Compact(flags)
}

// scripted are the commands that the scripts of cmd/adroit run, with the flags of each
// time.
func scripted(t *testing.T, root *cobra.Command) map[string][][]string {
	t.Helper()
	run := map[string][][]string{}
	n := 0
	err := filepath.WalkDir("../../cmd/adroit/testdata", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".txt") {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		script, _, _ := strings.Cut(string(b), "\n-- ")
		for l := range strings.Lines(script) {
			if _, args, ok := strings.Cut(strings.TrimSpace(l), "adroit "); ok && !strings.HasPrefix(l, "#") && !strings.HasPrefix(l, "std") {
				path, flags := shape(root, strings.Fields(args))
				run[path] = append(run[path], flags)
				n++
			}
		}
		return nil
	})
	if err != nil || n < 500 {
		t.Fatalf("%d commands in scripts, %v: are these the scripts?", n, err)
	}
	return run
}

func isCommand(root *cobra.Command, name string) bool {
	cmd, _, err := root.Find([]string{name})
	return err == nil && cmd != root
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

// command is where a command begins, and ends is what ends it: layout, or punctuation
// that no argument has.
var (
	command = regexp.MustCompile(`(?:^|[\s("'\x60:;,|])adroit ([^\n\x60;,"()|]*)`)
	ends    = regexp.MustCompile(`    |: |\. |\.$| -> | (?:adroit|has|is|are|and|or|to|for|in|of|if|it|again|after|before|with|without|lists|list|shows?|prints?|says?|sees?|runs?|goes|gives?|takes?|needs?|does|makes?|adds?|removes?|undoes|once|first|then|there|here|from|by|on|as|that|which|whose|where|while|until|when|answers?|what|finishes|names) `)
)

func printedHints(t *testing.T) (out []printedHint) {
	t.Helper()
	fset := token.NewFileSet()
	for _, dir := range []string{"../../internal", "../../pkg"} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				x, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				text, whole := textOf(x)
				if !whole {
					return true
				}
				for _, m := range command.FindAllStringSubmatch(text, -1) {
					said := m[1]
					if at := ends.FindStringIndex(said + " "); at != nil {
						said = said[:min(at[0], len(said))]
					}
					out = append(out, printedHint{fset.Position(x.Pos()).String(), strings.TrimSpace(said)})
				}
				return false
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

var verb = regexp.MustCompile(`%[-+# 0-9.\[\]]*[a-zA-Z]`)

// textOf is the text that an expression is, as far as it is written there: a literal, or
// a sum with one, in which X stands for the rest.
func textOf(x ast.Expr) (string, bool) {
	switch x := x.(type) {
	case *ast.BasicLit:
		if x.Kind != token.STRING {
			return "", false
		}
		s, err := strconv.Unquote(x.Value)
		return verb.ReplaceAllString(s, "X"), err == nil
	case *ast.ParenExpr:
		return textOf(x.X)
	case *ast.BinaryExpr:
		if x.Op != token.ADD {
			return "", false
		}
		a, okA := textOf(x.X)
		b, okB := textOf(x.Y)
		if !okA {
			a = "X"
		}
		if !okB {
			b = "X"
		}
		return a + b, okA || okB
	}
	return "", false
}

func linesOf(t *testing.T, file string) (out []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(b)) {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}
