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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A printed hint is where the product prints a command, and its template, with X for
// each value.
type printedHint struct{ at, command string }

// TestHints finds by syntax tree each command of adroit that the product can print, in a
// hint, an error, a prompt or a table, and holds it against the real commands: each of its
// words is a command or an argument of one that takes some, and each flag is one of that
// command's. So are those of help pages. The rule hints of internal/lint/vet says that there
// are no others.
func TestHints(t *testing.T) {
	root := Program{}.Command()
	for _, h := range helpHints(t, root) {
		if why := wrong(root, strings.Fields(h.command)); why != "" {
			t.Errorf("%s: adroit %s: %s", h.at, h.command, why)
		}
	}
	hints := printedHints(t)
	if len(hints) < 200 {
		t.Errorf("only %d commands are found: are these the files?", len(hints))
	}
	unrun := linesOf(t, "testdata/hints/unrun.txt")
	run := scripted(t, root)
	left := map[string]bool{}
	for _, h := range hints {
		words := strings.Fields(h.command)
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

// printedHints are the templates of all calls of internal/hint.
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
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				fn, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || !slices.Contains([]string{"Command", "Name", "Replayed"}, fn.Sel.Name) || len(call.Args) == 0 {
					return true
				}
				if pkg, ok := fn.X.(*ast.Ident); !ok || pkg.Name != "hint" {
					return true
				}
				lit, ok := call.Args[0].(*ast.BasicLit)
				if !ok {
					return true
				}
				template, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Error(err)
				}
				out = append(out, printedHint{fset.Position(call.Pos()).String(), strings.ReplaceAll(template, "%s", "X")})
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
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

func linesOf(t *testing.T, file string) (out []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(b)) {
		l, _, _ = strings.Cut(l, "#") // why there is no script
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}
