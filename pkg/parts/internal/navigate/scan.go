package navigate

import (
	"cmp"
	"path"
	"strings"

	"github.com/adroit-run/adroit/pkg/tools"
)

// A language describes a language for scans: the words that declare the next name, and
// the form of comments and strings.
type language struct {
	family  string // languages of one family use each other's names
	comment string // begins a comment to the end of the line
	quotes  string // begin and end strings
	kinds   string // words before a name
	bodies  string // words that declare a name only with a body, else they are part of a type
	methods int    // words before the parentheses of a function without such a word; 0 for none
	nested  bool   // those functions may be indented
}

var (
	cLike    = language{family: "c", comment: "//", quotes: `"'`, kinds: " namespace ", bodies: " struct enum union class ", methods: 2}
	jsLike   = language{family: "js", comment: "//", quotes: "\"'`", kinds: " class interface enum type function namespace const let var ", methods: 1, nested: true}
	javaLike = language{comment: "//", quotes: `"'`, kinds: " class interface enum record struct trait object protocol fun func def function namespace const val var type extension ", methods: 2, nested: true}
	hashLike = language{comment: "#", quotes: `"'`, kinds: " def defp defmodule defmacro class module sub function ", methods: 1}
	rust     = language{comment: "//", quotes: `"`, kinds: " fn struct enum trait type mod const static macro_rules union "}
	dashLike = language{comment: "--", quotes: `"`, kinds: " function data newtype type class module let table view procedure "}
	proto    = language{comment: "//", quotes: `"`, kinds: " message service rpc enum "}
)

var languages = map[string]*language{
	"c": &cLike, "h": &cLike, "cc": &cLike, "cpp": &cLike, "cxx": &cLike, "hpp": &cLike, "hh": &cLike,
	"ts": &jsLike, "tsx": &jsLike, "mts": &jsLike, "cts": &jsLike, "js": &jsLike, "jsx": &jsLike, "mjs": &jsLike, "cjs": &jsLike, "vue": &jsLike,
	"java": &javaLike, "kt": &javaLike, "scala": &javaLike, "cs": &javaLike, "swift": &javaLike, "php": &javaLike,
	"py": &hashLike, "pyi": &hashLike, "rb": &hashLike, "sh": &hashLike, "pl": &hashLike, "ex": &hashLike,
	"rs": &rust, "lua": &dashLike, "hs": &dashLike, "ml": &dashLike, "sql": &dashLike, "erl": {comment: "%", quotes: `"`}, "proto": &proto,
}

const (
	// modifiers stand before a word of kinds.
	modifiers = " export default declare abstract async public private protected internal static final override virtual sealed partial open inline " +
		"extern unsafe pub crate super readonly data suspend local create or replace temporary case "
	// controls look like a function with a body and are none.
	controls = " if for while switch catch return else do new throw with until elif except match foreach lock using when function "
	// variables are declarations at the top of a file only.
	variables = " const let var val static "
)

func oneOf(word, list string) bool { return strings.Contains(list, " "+word+" ") }

// scan finds by words and indentation what a file declares that is not Go, all
// words in it, comments included, and of them what is called, a member or a type.
// Languages have grammars; this has none, and needs no program for it. What is
// indented twice is inside of a function.
func scan(name, text string) (syms []tools.Symbol, words, used map[string]bool) {
	lang := languages[strings.TrimPrefix(path.Ext(name), ".")]
	if lang == nil {
		return nil, nil, nil
	}
	s := scanner{lang: lang, file: name, text: text, line: 1, words: map[string]bool{}, used: map[string]bool{}}
	s.run()
	return s.syms, s.words, s.used
}

// What a scanner expects of the next word.
const (
	atStart   = iota // of a line: modifiers or a word of kinds
	expecting        // the name after a word of kinds
	inTypes          // words before the parentheses of a function
	passing          // nothing, until the next line
)

type scanner struct {
	lang       *language
	file, text string
	at, line   int

	state        int
	indent, unit int    // of this line; of the first line that is indented
	kind         string // while expecting
	count        int    // words, while inTypes
	parens       int    // that are open
	function     *tools.Symbol
	outside      int // parens around function

	syms        []tools.Symbol
	words, used map[string]bool
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (s *scanner) run() {
	for s.at < len(s.text) {
		c, rest := s.text[s.at], s.text[s.at:]
		switch {
		case c == '\n':
			s.newLine()
		case isWord(c):
			s.word()
		case strings.HasPrefix(rest, s.lang.comment):
			s.skipTo("\n", false)
		case strings.HasPrefix(rest, "/*"):
			s.skipTo("*/", true)
		case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, "'''"):
			s.at += 3
			s.skipTo(rest[:3], true)
		case strings.IndexByte(s.lang.quotes, c) >= 0:
			s.at++
			s.skipTo(string(c), c == '`')
		default:
			if c != ' ' && c != '\t' && c != '\r' {
				s.mark(c)
			}
			s.at++
		}
	}
}

func (s *scanner) newLine() {
	s.at++
	s.line++
	s.state, s.count = atStart, 0
	s.indent = len(s.text[s.at:]) - len(strings.TrimLeft(s.text[s.at:], " \t"))
	s.unit = cmp.Or(s.unit, s.indent)
}

// skipTo takes the words up to the end of a comment or a string, which is at the
// end of the line at last unless it may have several.
func (s *scanner) skipTo(end string, lines bool) {
	for s.at < len(s.text) && !strings.HasPrefix(s.text[s.at:], end) {
		switch c := s.text[s.at]; {
		case c == '\n' && !lines:
			return
		case c == '\n':
			s.newLine()
			s.state = passing
		case c == '\\' && end != "*/":
			s.at = min(s.at+2, len(s.text))
		case isWord(c):
			s.take()
		default:
			s.at++
		}
	}
	if end != "\n" {
		s.at = min(s.at+len(end), len(s.text))
	}
}

func (s *scanner) take() string {
	from := s.at
	for s.at < len(s.text) && isWord(s.text[s.at]) {
		s.at++
	}
	w := s.text[from:s.at]
	s.words[w] = true
	return w
}

func (s *scanner) word() {
	column := s.at - strings.LastIndexByte(s.text[:s.at], '\n')
	member := s.at > 0 && strings.IndexByte(".:>", s.text[s.at-1]) >= 0
	w := s.take()
	if member || 'A' <= w[0] && w[0] <= 'Z' || strings.HasPrefix(s.text[s.at:], "(") {
		s.used[w] = true
	}
	here := func(kind string) tools.Symbol {
		return tools.Symbol{Name: strings.Clone(w), Kind: kind, Depth: min(s.indent, 1), Location: tools.Location{File: s.file, Line: s.line, Column: column}}
	}
	switch s.state {
	case atStart:
		switch low := strings.ToLower(w); {
		case oneOf(low, s.lang.kinds), oneOf(low, s.lang.bodies):
			s.state, s.kind, s.count = expecting, low, 1
		case oneOf(low, modifiers):
			s.count++
		default:
			s.types(w, here)
		}
	case expecting:
		next := strings.TrimLeft(s.text[s.at:], " \t\r")
		switch {
		case strings.HasPrefix(next, ".") || oneOf(w, " self class enum if not exists rec mut "): // part of a longer one
		case oneOf(s.kind, s.lang.bodies) && next != "" && !strings.ContainsRune("{:\n", rune(next[0])):
			s.types(w, here)
		default:
			if s.indent <= s.unit && (s.indent == 0 || !oneOf(s.kind, variables)) {
				s.syms = append(s.syms, here(s.kind))
			}
			s.state = passing
		}
	case inTypes:
		s.types(w, here)
	}
}

// types counts words of a type and a name that parentheses may follow.
func (s *scanner) types(w string, here func(string) tools.Symbol) {
	s.state = inTypes
	s.count++
	top := s.indent == 0 || s.lang.nested && s.indent <= s.unit
	switch {
	case s.lang.methods == 0, !top, oneOf(w, controls):
		s.state = passing
	case s.count >= s.lang.methods && s.function == nil && strings.HasPrefix(s.text[s.at:], "("):
		f := here("func")
		s.function, s.outside, s.state = &f, s.parens, passing
	}
}

// mark looks at what is neither a word nor space.
func (s *scanner) mark(c byte) {
	switch c {
	case '(':
		s.parens++
	case ')':
		s.parens--
	case '{', ';', '}', '=':
		if f := s.function; f != nil && s.parens <= s.outside {
			if c == '{' {
				s.syms = append(s.syms, *f)
			}
			s.function = nil
		}
		s.parens = max(s.parens, 0)
	}
	switch {
	case s.state == expecting && !strings.ContainsRune("*&.:!", rune(c)), s.state == inTypes && !strings.ContainsRune("*&<>[]:,~?", rune(c)):
		s.state = passing
	}
}
