package permit

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/match"
	"mvdan.cc/sh/v3/syntax"
)

// maxScript bounds the text that is read, in bytes: nesting costs stack. What
// is longer is not understood and therefore never allowed by a rule.
const maxScript = 64 << 10

// maxNesting bounds what opens something in a text that is read: each may lie
// within the one before, and what reads it goes that deep.
const maxNesting = 2000

func nesting(text string) (n int) {
	for _, opener := range []string{"(", "{", "`", "if ", "while ", "until ", "case ", "for ", "! "} {
		n += strings.Count(text, opener)
	}
	return n
}

// maxDepth bounds the nesting of shells that are read.
const maxDepth = 8

// A script is the effect of shell text, as far as it can be read. The text is read as a
// POSIX shell and as bash would read it, and the script has the effects of both: which of
// them is /bin/sh is not known here, and they disagree about some texts.
type script struct {
	raw      string
	commands []command // every simple command, wherever it stands
	writes   []string  // files that redirections write
	reads    []string  // files that redirections read
	opaque   []string  // why parts cannot be judged; empty if all was understood
	moves    bool      // it changes directory: relative names mean something else
	follow   func(name string, wild bool) (names []string, unknown bool)
	repeats  bool // it has loops or functions: a change of directory may happen again
}

// A command is a simple command.
type command struct {
	words []word
	risks []risk // words that a rule must spell out
	free  bool   // needs no rule: it does nothing, or runs what is judged by itself
	hides string // why what it runs cannot be read; empty if it can, or runs nothing
}

func (c command) String() string {
	var out []string
	for _, w := range c.words {
		out = append(out, w.String())
	}
	return strings.Join(out, " ")
}

var joinedComment = lazyregexp.New(`#[^\n]*\\\n`)

func read(text string) *script {
	s := &script{raw: text}
	s.parse(text, 0)
	return s
}

func (s *script) obscure(format string, args ...any) {
	s.opaque = append(s.opaque, fmt.Sprintf(format, args...))
}

func (s *script) parse(text string, depth int) {
	switch {
	case len(text) > maxScript:
		s.obscure("it is too long to be judged (%d bytes)", len(text))
		return
	case nesting(text) > maxNesting:
		s.obscure("it nests too deeply to be judged")
		return
	case depth > maxDepth:
		s.obscure("it starts shells within shells")
		return
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }):
		s.obscure("it has control characters")
	case joinedComment.MatchString(text):
		// Whether a comment goes on behind a backslash is decided differently by
		// the shells and by what reads them here.
		s.obscure("a line with # ends in a backslash")
	}
	for _, lang := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash} {
		f, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
		if err != nil {
			s.obscure("it is not plain shell text: %s", strings.TrimPrefix(err.Error(), "1:1: "))
		}
		if f != nil {
			syntax.Walk(f, func(n syntax.Node) bool {
				s.visit(n, depth)
				return true
			})
		}
	}
}

func (s *script) visit(n syntax.Node, depth int) {
	switch n := n.(type) {
	case *syntax.WhileClause, *syntax.FuncDecl:
		s.repeats = true
	case *syntax.CallExpr:
		for _, a := range n.Assigns {
			s.assign(a)
		}
		var words []word
		for _, w := range n.Args {
			words = append(words, readWord(w))
		}
		if len(words) > 0 {
			s.command(words, depth)
		}
	case *syntax.DeclClause:
		for _, a := range n.Args {
			if a.Naked && a.Name == nil {
				if w := readWord(a.Value); !w.known() || w.text != "-x" && w.text != "-r" && w.text != "-p" && w.text != "-g" {
					s.obscure("it declares variables with options")
				}
			}
			s.assign(a)
		}
	case *syntax.Redirect:
		s.redirect(n)
	case *syntax.ParamExp:
		s.expansion(n)
	case *syntax.ArithmExp:
		s.arithmetic(n.X)
	case *syntax.ArithmCmd:
		s.arithmetic(n.X)
	case *syntax.LetClause, *syntax.CStyleLoop:
		s.obscure("it calculates with variables, which may hold commands")
	case *syntax.TestClause:
		s.obscure("it tests with [[, which may run what variables hold")
	case *syntax.ProcSubst:
		s.obscure("it substitutes a process")
	case *syntax.CoprocClause:
		s.obscure("it starts a coprocess")
	case *syntax.WordIter:
		s.repeats = true
		s.variable(n.Name.Value)
	}
}

// assign judges a variable being set.
func (s *script) assign(a *syntax.Assign) {
	if a.Index != nil || a.Array != nil {
		s.obscure("it sets an array")
	}
	if a.Name != nil {
		s.variable(a.Name.Value)
	}
}

// harmless are variables in capitals that change how a program looks or for
// what it builds, not what it runs.
var harmless = map[string]bool{
	"CI": true, "TZ": true, "LANG": true, "LC_ALL": true, "LC_CTYPE": true, "NO_COLOR": true, "FORCE_COLOR": true, "TERM": true, "COLUMNS": true, "LINES": true,
	"VERBOSE": true, "GOOS": true, "GOARCH": true, "GOMAXPROCS": true, "CGO_ENABLED": true, "RUST_BACKTRACE": true, "PYTHONUNBUFFERED": true,
	"PYTHONDONTWRITEBYTECODE": true, "NODE_ENV": true,
}

// variable judges the name of a variable that is set. Programs and the shell
// itself are steered by variables in capitals: PATH, LD_PRELOAD, GIT_PAGER,
// BASH_ENV. There are too many to list, so that a few are let through and the
// rest are not.
func (s *script) variable(name string) {
	if harmless[name] {
		return
	}
	for i, r := range name {
		lower := r == '_' || r >= 'a' && r <= 'z' || i > 0 && r >= '0' && r <= '9'
		if !lower {
			s.obscure("it sets %s, which may change what programs run", name)
			return
		}
	}
	if name == "" || name == "_" || strings.HasSuffix(name, "_proxy") || name == "path" {
		s.obscure("it sets %q, which may change what programs run", name)
	}
}

// expansion judges a use of a variable: all but the plain ones may run code
// that is in its value, or set it.
func (s *script) expansion(p *syntax.ParamExp) {
	plain := p.Flags == nil && !p.Excl && !p.Width && !p.IsSet && p.NestedParam == nil && p.Index == nil && len(p.Modifiers) == 0 &&
		p.Slice == nil && p.Repl == nil && p.Names == 0
	if plain && p.Exp != nil {
		switch p.Exp.Op {
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
			syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		default:
			plain = false
		}
	}
	// bash starts what stands in <(…) there too, unlike the parser.
	if plain && p.Exp != nil && p.Exp.Word != nil {
		syntax.Walk(p.Exp.Word, func(n syntax.Node) bool {
			lit, ok := n.(*syntax.Lit)
			plain = plain && !(ok && (strings.Contains(lit.Value, "<(") || strings.Contains(lit.Value, ">(")))
			return true
		})
	}
	if !plain {
		s.obscure("it expands a variable in a way that may run code")
	}
}

// arithmetic lets numbers through: a variable in a sum may hold a command.
func (s *script) arithmetic(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			if t := readWord(w); !t.known() || strings.Trim(t.text, "0123456789") != "" {
				s.obscure("it calculates with variables, which may hold commands")
			}
		}
		return true
	})
}

func (s *script) redirect(r *syntax.Redirect) {
	if r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" {
		s.obscure("it puts a file descriptor into a variable")
	}
	if r.Word == nil || r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc {
		return
	}
	w := readWord(r.Word)
	name := w.text
	switch {
	case !w.known():
		s.obscure("it redirects to a name that is made up at run time")
	case strings.HasPrefix(name, "/dev/tcp") || strings.HasPrefix(name, "/dev/udp"):
		s.obscure("it opens a connection by redirection")
	case r.Op == syntax.RdrIn:
		s.reads = append(s.reads, path.Clean(name))
	case name == "/dev/null", (r.Op == syntax.DplOut || r.Op == syntax.DplIn) && strings.Trim(name, "0123456789-") == "":
	default:
		s.writes = append(s.writes, path.Clean(name))
	}
}

// mentions reports whether the words of a pattern stand in text somewhere,
// quoted or not. It is for text that is not understood, and errs on the side
// of the rule.
func mentions(text string, pattern []string) bool {
	text = strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(text)
	var words []word
	for _, f := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|<>(){}$`=,!", r) }) {
		words = append(words, word{text: f, static: true})
	}
	const reach = 32 // words after the program that may belong to it
	for i := range words {
		if loosely(pattern, words[i:min(len(words), i+reach)]) == sure {
			return true
		}
	}
	return false
}

// maxNames bounds the names that Idle looks at.
const maxNames = 50_000

// Idle gives the rules that name a path and the names on a deny list that fit nothing below a directory,
// as they are written: they protect nothing there, and may be misspelled. In a directory with too
// many names to look at it gives none.
func Idle(dir string, rules []Rule, names []string) []string {
	var open []func(string) bool
	var text []string
	for _, r := range rules {
		if r.Path != "" {
			open = append(open, func(p string) bool { return match.Covers(r.Path, p, true) })
			text = append(text, r.String())
		}
	}
	for _, n := range names {
		list := &rootfs.DenyList{Deny: []string{n}}
		open = append(open, func(p string) bool { return list.Denies(p) })
		text = append(text, "secrets.deny "+n)
	}
	left, seen := len(open), 0
	if left == 0 {
		return nil
	}
	fits := make([]bool, len(open))
	full := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		switch seen++; {
		case seen > maxNames:
			return fs.ErrInvalid
		case err != nil || p == ".":
			return nil // what cannot be read is not known
		case d.IsDir() && strings.EqualFold(d.Name(), ".git"):
			return fs.SkipDir
		}
		for i, fit := range open {
			if !fits[i] && fit(p) {
				fits[i] = true
				left--
			}
		}
		if left == 0 {
			return fs.SkipAll
		}
		return nil
	})
	if full != nil {
		return nil
	}
	var idle []string
	for i, ok := range fits {
		if !ok {
			idle = append(idle, text[i])
		}
	}
	return idle
}
