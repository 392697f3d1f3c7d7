package reference

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"mvdan.cc/sh/v3/syntax"

	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/parts"
)

var inlineCommand = regexp.MustCompile("`(adroit [^`]+)`")

// TestCommandLines checks that each command line of the documents can be typed: its command and
// its flags exist and, where it is not a name within a sentence, it has the arguments that it
// needs.
func TestCommandLines(t *testing.T) {
	files := glob(t, "../../../docs/*.md", "../../../docs/dev/*.md")
	lines := 0
	for _, name := range append(files, "../../../README.md") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fenced := false
		for i, line := range strings.Split(string(b), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
				continue
			}
			typed := strings.TrimPrefix(strings.TrimSpace(line), "$ ")
			found := [][]string{{"", typed}}
			switch {
			case fenced && !strings.HasPrefix(typed, "adroit "), strings.Contains(typed, "  adroit "): // what was printed
				continue
			case !fenced:
				found = inlineCommand.FindAllStringSubmatch(line, -1)
			}
			for _, m := range found {
				for _, args := range commandsIn(m[1]) {
					lines++
					if why := untypable(args, fenced); why != "" {
						t.Errorf("%s:%d: %s: %s", filepath.Base(name), i+1, m[1], why)
					}
				}
			}
		}
	}
	if lines < 200 {
		t.Errorf("only %d command lines were found", lines)
	}
}

// commandsIn returns the arguments of the calls of adroit in a line of a shell, or nil if the line
// is not one or describes a usage.
func commandsIn(line string) (all [][]string) {
	if !strings.Contains(line, "adroit ") || strings.ContainsAny(line, "[…") || strings.Contains(line, "...") {
		return nil
	}
	f, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) < 2 || call.Args[0].Lit() != "adroit" {
			return true
		}
		var args []string
		for _, w := range call.Args[1:] {
			var b strings.Builder
			for _, part := range w.Parts {
				switch p := part.(type) {
				case *syntax.Lit:
					b.WriteString(p.Value)
				case *syntax.SglQuoted:
					b.WriteString(p.Value)
				default:
					b.WriteString("x")
				}
			}
			args = append(args, b.String())
		}
		all = append(all, args)
		return true
	})
	return all
}

// untypable explains why the command line does not accept arguments, or returns "". Unless whole
// is set, args may be only the name of a command.
func untypable(args []string, whole bool) string {
	root := cli.Program{Parts: parts.All()}.Command()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err.Error()
	}
	err = cmd.ParseFlags(rest)
	if err == nil && whole {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil && !errors.Is(err, pflag.ErrHelp) && (whole || !strings.HasPrefix(err.Error(), "flag needs an argument")) {
		return err.Error()
	}
	return ""
}
