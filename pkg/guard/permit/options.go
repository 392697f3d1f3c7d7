package permit

import (
	_ "embed"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

//go:embed options.txt
var optionsText string

// An option is the set of properties that options.txt gives an option.
type option uint8

const (
	takesValue option = 1 << iota
	writes            // it writes: harmless to others, but a rule must spell it out
	starts            // it starts a program, moves it, or reads more options
)

// A spec is the entry of options.txt about a program or one of its subcommands.
type spec struct {
	options  map[string]option
	prefixes map[string]option
	values   map[string]*regexp.Regexp // by option: what its value may be
	operand  *regexp.Regexp            // what operands and other values may be; nil: anything
	subs     map[string]*spec

	words   bool // -name is one option
	script  bool // the first operand is a script, and there must be one
	command bool // the first operand takes what follows
	one     bool // a second operand is written to
	named   bool // a rule must spell the subcommand out
	runs    bool // likewise, and what it runs is not read
	aliases bool // a subcommand that is not listed may be an alias

	// Of programs that run the command that their operands are.
	assigns  bool // NAME=value may stand before it
	skip     bool // another operand comes before it
	separate bool // they need a rule of their own
	joins    bool // the operands are joined to shell text
}

// programs holds the specs of options.txt by the name of the program.
var programs = sync.OnceValue(func() map[string]*spec {
	return mustParse(optionsText)
})

func mustParse(text string) map[string]*spec {
	out, err := parseOptions(text)
	if err != nil {
		panic(err) // it is part of the program; a test reads it
	}
	return out
}

var continued = lazyregexp.New(`\n[ \t]+`)

func parseOptions(text string) (map[string]*spec, error) {
	root := &spec{subs: map[string]*spec{}}
	groups := map[string]string{}
	for line := range strings.Lines(continued.ReplaceAllString(text, " ")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "&") {
			name, tokens, _ := strings.Cut(line, " ")
			groups[name] = tokens
			continue
		}
		head, tokens, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("options.txt: %q has no colon", line)
		}
		at := []*spec{root}
		for _, names := range strings.Fields(head) {
			var next []*spec
			for _, parent := range at {
				for _, name := range strings.Split(names, ",") {
					if parent.subs[name] == nil {
						parent.subs[name] = &spec{options: map[string]option{}, prefixes: map[string]option{}, values: map[string]*regexp.Regexp{}, subs: map[string]*spec{}}
					}
					next = append(next, parent.subs[name])
				}
			}
			at = next
		}
		for _, s := range at {
			if err := s.take(tokens, groups); err != nil {
				return nil, fmt.Errorf("options.txt: %s: %w", head, err)
			}
		}
	}
	return root.subs, nil
}

// take reads the tokens of a line into the spec.
func (p *spec) take(tokens string, groups map[string]string) error {
	flags := map[string]*bool{"@words": &p.words, "@script": &p.script, "@command": &p.command, "@one": &p.one, "@named": &p.named, "@runs": &p.runs, "@aliases": &p.aliases,
		"@assigns": &p.assigns, "@skip": &p.skip, "@separate": &p.separate, "@joins": &p.joins}
	for _, t := range strings.Fields(tokens) {
		switch {
		case flags[t] != nil:
			*flags[t] = true
		case t[0] == '&':
			if groups[t] == "" {
				return fmt.Errorf("there is no group %s", t)
			}
			if err := p.take(groups[t], groups); err != nil {
				return err
			}
		case t[0] == '/' && len(t) > 2:
			re, err := regexp.Compile(`^(?:` + t[1:len(t)-1] + `)$`)
			if err != nil {
				return err
			}
			p.operand = re
		case t[0] == '-':
			if p.words {
				t = "-" + strings.TrimLeft(t, "-")
			}
			var o option
			if rest, ok := strings.CutSuffix(t, "!"); ok {
				t, o = rest, writes
			} else if rest, ok := strings.CutSuffix(t, "^"); ok {
				t, o = rest, starts
			}
			if name, re, ok := strings.Cut(t, "=/"); ok {
				value, err := regexp.Compile(`^(?:` + strings.TrimSuffix(re, "/") + `)$`)
				if err != nil {
					return err
				}
				p.options[name], p.values[name] = o|takesValue, value
			} else if rest, ok := strings.CutSuffix(t, "*"); ok {
				p.prefixes[rest] = o
			} else if rest, ok := strings.CutSuffix(t, "="); ok {
				p.options[rest] = o | takesValue
			} else {
				p.options[t] |= o
			}
		default:
			return fmt.Errorf("what is %q", t)
		}
	}
	return nil
}

// A risk is a word of a command that is not harmless as far as is known. A
// rule allows it only by spelling it out.
type risk struct {
	at     int  // the index of the word; as many as there are words: something is missing
	starts bool // it may start another program, which rules then cannot see
}

// risks lists the words of a command that are not known to be harmless.
func risks(base string, words []word) []risk {
	p := programs()[base]
	if p == nil {
		return nil
	}
	if base == "find" {
		words = ofFind(words)
	}
	w := walk{words: words, spec: p}
	w.run()
	switch base {
	case "sed", "gsed":
		w.sed()
	case "awk", "gawk", "mawk", "nawk":
		w.awk()
	case "tar", "gtar", "bsdtar":
		w.tar()
	}
	return w.risks
}

// A walk goes through the words of a command.
type walk struct {
	words    []word
	spec     *spec
	risks    []risk
	operands []int // their indices
	ended    bool  // by --
}

func (w *walk) risk(at int, starts bool) { w.risks = append(w.risks, risk{at, starts}) }

func (w *walk) run() {
	for i := 1; i < len(w.words); i++ {
		x := w.words[i]
		switch {
		case !x.known() && (x.mayBeOption() && !w.ended || w.spec.operand != nil || w.spec.one && x.spread):
			w.risk(i, false)
			w.operands = append(w.operands, i)
		case !x.known():
			w.operands = append(w.operands, i)
		case x.text == "--":
			w.ended = !w.spec.words
			continue
		case !w.ended && len(x.text) > 1 && x.text[0] == '-':
			i = w.option(i)
			continue
		case w.sub(i):
			continue
		default:
			w.takeOperand(i)
		}
		if w.spec.script || w.spec.command {
			return
		}
	}
	if w.spec.script && len(w.operands) == 0 {
		w.risk(len(w.words), true) // it reads its input
	}
}

func (w *walk) takeOperand(i int) {
	text := w.words[i].text
	switch {
	case w.spec.operand != nil && !w.spec.operand.MatchString(text):
		w.risk(i, strings.HasPrefix(text, "@") || strings.HasPrefix(text, "+"))
	case w.spec.one && len(w.operands) == 1:
		w.risk(i, false)
	case w.spec.script && text == "-":
		w.risk(i, true)
	}
	w.operands = append(w.operands, i)
}

// sub enters the spec of a subcommand if the word at i is one.
func (w *walk) sub(i int) bool {
	if len(w.spec.subs) == 0 {
		return false
	}
	sub := w.spec.subs[w.words[i].text]
	if sub == nil {
		w.risk(i, w.spec.aliases)
		sub = &spec{words: w.spec.words} // no option of it is known
	} else if sub.named || sub.runs {
		w.risk(i, sub.runs)
	}
	w.spec = sub
	return true
}

// option judges the option at i and returns the index of its last word. The
// value of an option is a word of its own: one that looks like an option is
// judged as one, so that a mistake here about which takes a value does no harm.
func (w *walk) option(i int) int {
	text := w.words[i].text
	o, name, value, ok := w.spec.find(text)
	at := i
	if ok && o&takesValue != 0 && value == "" && !strings.HasSuffix(text, "=") && i+1 < len(w.words) && w.words[i+1].known() {
		next := w.words[i+1].text
		if w.spec.values[name] != nil || !strings.HasPrefix(next, "-") || negative.MatchString(next) {
			i++
			value = next
		}
	}
	pattern, special := w.spec.values[name]
	switch {
	case special && pattern.MatchString(value):
	case special, !ok, o&(writes|starts) != 0:
		w.risk(at, o&starts != 0)
	case o&takesValue != 0 && value != "" && w.spec.operand != nil && !w.spec.operand.MatchString(value):
		w.risk(i, false)
	}
	return i
}

var negative = lazyregexp.New(`^-[0-9]+[cwbkMG]?$`)

// find looks an option up: by its whole name first, then as letters behind one
// dash. What it returns for letters is all that any of them is, and the name
// of the last.
func (p *spec) find(text string) (o option, name, value string, ok bool) {
	name, value, attached := strings.Cut(text, "=")
	if p.words {
		name = "-" + strings.TrimLeft(name, "-")
	}
	if o, ok := p.options[name]; ok {
		return o, name, value, !attached || o&takesValue != 0 || p.words
	}
	longest := ""
	for _, prefix := range slices.Sorted(maps.Keys(p.prefixes)) { // workflows ask too, which want one order
		if strings.HasPrefix(text, prefix) && len(text) > len(prefix) && len(prefix) > len(longest) {
			longest = prefix
		}
	}
	if longest != "" {
		return p.prefixes[longest], "", "", true
	}
	if strings.HasPrefix(text, "--") || p.words {
		return p.abbreviated(name), "", "", false
	}
	if _, ok := p.options["-#"]; ok && strings.Trim(text[1:], "0123456789") == "" {
		return 0, "", "", true
	}
	for i := 1; i < len(text); i++ {
		name = "-" + text[i:i+1]
		letter, ok := p.options[name]
		o |= letter
		switch {
		case !ok:
			return o, "", "", false
		case letter&takesValue != 0:
			return o, name, text[i+1:], true
		}
	}
	return o, name, "", true
}

// abbreviated returns starts if name abbreviates a long option with that property, since
// programs accept abbreviations, else 0. Either way the option is not harmless.
func (p *spec) abbreviated(name string) option {
	for long, o := range p.options {
		if o&starts != 0 && len(name) > 3 && strings.HasPrefix(long, name) {
			return starts
		}
	}
	return 0
}

// anywhere are programs that do the same in every directory: what they do
// follows from their words, and not from a file that lies where they run.
var anywhere = func() map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(`echo printf cat tac head tail wc ls dir grep egrep fgrep rg find fd sed gsed awk gawk mawk nawk sort uniq cut tr paste join comm
		tee xargs seq expr test [ diff cmp stat file du df date basename dirname realpath readlink mkdir rmdir rm cp mv ln touch chmod true false pwd which type id whoami uname
		hostname sleep nl fold column rev od xxd hexdump md5sum sha1sum sha256sum sha512sum cksum b2sum jq tar gzip gunzip zcat zip unzip tree shuf split iconv env cd pushd popd
		command exec builtin export read set : exit return break continue shift wait local unset declare readonly typeset ps kill`) {
		out[name] = true
	}
	return out
}()

// placed reports whether what a command does depends on the directory it is
// started in.
func placed(name string) bool {
	return strings.Contains(name, "/") && !path.IsAbs(name) || !anywhere[path.Base(name)]
}

// sed judges the scripts of sed, which can run programs and write files.
func (w *walk) sed() {
	given := false
	for i := 1; i < len(w.words); i++ {
		x := w.words[i]
		if !x.known() && len(x.text) == 0 {
			continue
		}
		name, value, attached := strings.Cut(x.text, "=")
		at := -1
		switch {
		case !strings.HasPrefix(x.text, "-"):
		case strings.HasPrefix(name, "--e"):
			at = i + 1
		case !strings.HasPrefix(name, "--") && strings.Contains(x.text, "e"):
			_, value, _ = strings.Cut(x.text, "e")
			attached, at = value != "", i+1
		}
		if at < 0 {
			continue
		}
		given = true
		if attached {
			if !plainSed.MatchString(value) {
				w.risk(i, true)
			}
			continue
		}
		w.sedScript(at)
	}
	if !given && len(w.operands) > 0 {
		w.sedScript(w.operands[0])
	}
}

func (w *walk) sedScript(i int) {
	if i < len(w.words) && (!w.words[i].known() || !plainSed.MatchString(w.words[i].text)) {
		w.risk(i, true)
	}
}

// plainSed matches sed scripts that only print, delete and replace. A bracket expression
// may not contain the delimiter: GNU and BSD sed differ about its end there.
var plainSed = func() *lazyregexp.Regexp {
	var subs []string
	for _, d := range []string{"/", "|", ",", "#", ":", "@", "!"} {
		piece := `(?:\\[^\n]|\[\^?[^\]\[\\\n` + d + `]+\]|[^\\\[\n` + d + `])*`
		subs = append(subs, `s`+regexp.QuoteMeta(d)+piece+regexp.QuoteMeta(d)+`(?:\\[^\n]|[^\\\n`+d+`])*`+regexp.QuoteMeta(d)+`[gpiI0-9]*`)
	}
	const re = `/(?:\\[^\n]|\[\^?[^\]\[\\\n/]+\]|[^\\\[\n/])+/`
	address := `(?:(?:[0-9]+|\$|` + re + `)(?:,(?:\+?[0-9]+|\$|` + re + `))?[ \t]*!?[ \t]*)?`
	command := address + `(?:[pdqDNnPlGHhgx=]|` + strings.Join(subs, "|") + `)`
	return lazyregexp.New(`^[ \t]*` + command + `(?:[ \t]*;[ \t]*` + command + `)*[ \t]*;?[ \t]*$`)
}()

// awk judges the program of awk: it may not open files or start programs.
func (w *walk) awk() {
	if len(w.operands) == 0 {
		return
	}
	i := w.operands[0]
	x := w.words[i]
	if !x.known() || strings.ContainsAny(strings.ReplaceAll(x.text, "||", ""), "|>@`\x00") || !plainAwk(x.text) {
		w.risk(i, true)
	}
}

var awkName = lazyregexp.New(`[A-Za-z_][A-Za-z0-9_]*[ \t\n\\]*\(?`)

var awkFunctions = []string{"length", "substr", "index", "split", "sub", "gsub", "match", "sprintf", "tolower", "toupper", "int", "sqrt", "exp", "log", "sin", "cos",
	"atan2", "rand", "srand", "if", "while", "for", "print", "printf", "in", "return", "strftime", "systime", "asort", "asorti", "gensub", "strtonum"}

func plainAwk(text string) bool {
	for _, name := range awkName.FindAllString(text, -1) {
		bare, call := strings.CutSuffix(name, "(")
		bare = strings.TrimRight(bare, " \t\n\\")
		if bare == "getline" || bare == "system" || call && !slices.Contains(awkFunctions, bare) {
			return false
		}
	}
	return true
}

// tar judges the old form of its options, letters without a dash. Their values
// are the words that follow.
func (w *walk) tar() {
	if len(w.words) < 2 || strings.HasPrefix(w.words[1].text, "-") || !w.words[1].known() {
		return
	}
	for _, letter := range w.words[1].text {
		o, ok := w.spec.options["-"+string(letter)]
		if !ok || o&(writes|starts) != 0 {
			w.risk(1, !ok || o&starts != 0)
		}
	}
}
