package permit

import (
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// evaluators are builtins of some shell that take text and run it, calculate with it or
// set what runs later; their effects cannot be followed.
var evaluators = set(`eval source . trap alias unalias enable bind complete compgen compopt fc mapfile readarray let getopts hash coproc select function shopt
	[[ (( integer float nameref autoload functions emulate zmodload vared noglob`)

func set(names string) map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(names) {
		out[name] = true
	}
	return out
}

// A builtin of the shell is harmless with the arguments that its grammar
// knows. With others it may run code: bash evaluates what stands in the
// brackets of a name, as in wait -p 'a[$(date)]', and which builtins take a
// name differs from one version to the next.
type builtin struct {
	free     bool // it needs no rule
	harmless func(args []word) bool
}

var builtins = map[string]builtin{
	":": {true, anything}, "true": {true, anything}, "false": {true, anything},
	"pwd":      {true, each(`-[LP]`)},
	"exit":     {true, oneNumber},
	"return":   {true, oneNumber},
	"break":    {true, oneNumber},
	"continue": {true, oneNumber},
	"shift":    {true, oneNumber},
	"wait":     {true, each(`-n|[0-9]+|%[0-9]+`)},
	"times":    {true, each(`-`)},
	"set":      {true, func(args []word) bool { return len(args) > 0 && each(setting)(args) }},
	"test":     {false, harmlessTest},
	"[": {false, func(args []word) bool {
		n := len(args)
		return n > 0 && args[n-1].text == "]" && harmlessTest(args[:n-1])
	}},
	"printf": {false, harmlessPrintf},
	"umask":  {false, each(`-S|-p|[0-7]+|[ugoa]*[-+=][rwxXst]*(,[ugoa]*[-+=][rwxXst]*)*`)},
	"ulimit": {false, each(`-[A-Za-z]+|[0-9]+|unlimited|hard|soft`)},
	"jobs":   {false, each(`-[lnprs]+|%[0-9]+`)},
	"fg":     {false, each(`%?[0-9]+`)}, "bg": {false, each(`%?[0-9]+`)}, "disown": {false, each(`-[ahr]+|%?[0-9]+`)},
	"dirs": {false, each(`-[clpv]+|[-+][0-9]+`)}, "caller": {false, oneNumber}, "history": {false, each(`[0-9]+`)},
	"logout": {false, oneNumber}, "suspend": {false, each(`-f`)},
}

const setting = `[-+][eufxvn]+|[-+][eufxvn]*o|pipefail|errexit|nounset|xtrace|noglob`

func anything([]word) bool { return true }

// each is a grammar in which every argument is of a form.
func each(form string) func([]word) bool {
	re := lazyregexp.New(`^(?:` + form + `)$`)
	return func(args []word) bool {
		return !slices.ContainsFunc(args, func(w word) bool { return !w.number && (!w.known() || !re.MatchString(w.text)) })
	}
}

func oneNumber(args []word) bool { return len(args) <= 1 && each(`[0-9]+`)(args) }

var (
	unaryTests  = set(`-b -c -d -e -f -g -h -k -n -p -r -s -t -u -w -x -z -G -L -N -O -S`)
	numberTests = set(`-eq -ne -lt -le -gt -ge`)
	binaryTests = set(`= == != < > -nt -ot -ef -eq -ne -lt -le -gt -ge`)
	integerWord = lazyregexp.New(`^[-+]?[0-9]+$`)
)

// harmlessTest lets through what test compares and looks at, as long as it is
// plain which words are operators: -v would evaluate the name behind it.
func harmlessTest(args []word) bool {
	for len(args) > 0 && args[0].known() && args[0].text == "!" {
		args = args[1:]
	}
	if slices.ContainsFunc(args, func(w word) bool { return !w.known() }) {
		if slices.ContainsFunc(args, func(w word) bool { return !w.single() }) {
			return false
		}
		switch len(args) {
		case 1:
			return true
		case 2:
			return args[0].known() && unaryTests[args[0].text]
		case 3:
			return args[1].known() && binaryTests[args[1].text]
		}
		return false
	}
	for i, w := range args {
		switch {
		case numberTests[w.text]:
			if i > 0 && !integerWord.MatchString(args[i-1].text) || i+1 < len(args) && !integerWord.MatchString(args[i+1].text) {
				return false
			}
		case strings.HasPrefix(w.text, "-") && !unaryTests[w.text] && !binaryTests[w.text] && w.text != "-a" && w.text != "-o" && !integerWord.MatchString(w.text):
			return false
		}
	}
	return true
}

var conversion = lazyregexp.New(`%[-+ #0]*(\*|[0-9]+)?(\.(\*|[0-9]+)?)?[diouxXfFeEgGaAcsbq%]`)

// harmlessPrintf lets formats through that print: an option, or %n, would set
// a variable.
func harmlessPrintf(args []word) bool {
	if len(args) > 0 && args[0].known() && args[0].text == "--" {
		args = args[1:]
	} else if len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		return false
	}
	return len(args) > 0 && args[0].known() && !strings.Contains(conversion.ReplaceAllString(args[0].text, ""), "%")
}

// builtin judges a builtin of the shell; known reports whether it is one.
func (s *script) builtin(base string, words []word) (free, known bool) {
	args := words[1:]
	switch base {
	case "export", "readonly", "declare", "typeset", "local":
		return s.declare(base, args, `-[xrpg]+`), true
	case "unset":
		return s.declare(base, args, `-[vf]`), true
	case "read":
		return s.declare(base, args, `-[rs]+`), true
	case "cd", "chdir", "pushd", "popd":
		if base == "cd" && len(args) == 1 && args[0].known() && args[0].text == "." {
			return true, true
		}
		s.moves = true
		return base == "cd" && len(args) == 1 && args[0].known() && inside(args[0].text), true
	}
	b, known := builtins[base]
	if known && !b.harmless(args) {
		s.obscure("it uses %s with words that may set variables or run code", base)
		return false, true
	}
	return b.free, known
}

// declare judges the names that a builtin sets.
func (s *script) declare(base string, args []word, options string) bool {
	for _, w := range args {
		name, _, _ := strings.Cut(w.text, "=")
		switch {
		case !w.static && !strings.Contains(w.text, "="):
			s.obscure("it sets a variable whose name is made up at run time")
			return false
		case strings.HasPrefix(name, "-"):
			if !each(options)([]word{w}) {
				s.obscure("it uses %s with options", base)
				return false
			}
		default:
			s.variable(name)
		}
	}
	return true
}
