package permit

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// options are what a program takes before its first operand.
type options struct {
	flags, valued     string   // letters, without and with a value
	long, longValued  []string // names without the dashes
	digits, operands  bool     // -5 is an option; one operand comes before the command
	assigns, separate bool     // NAME=value may stand before the command; it needs a rule of its own
}

// wrappers run the command that their operands are.
var wrappers = map[string]options{
	"env":     {flags: "i0v", valued: "uC", long: []string{"ignore-environment"}, longValued: []string{"unset", "chdir"}, assigns: true},
	"nohup":   {},
	"setsid":  {flags: "cfw", long: []string{"fork", "wait", "ctty"}},
	"nice":    {valued: "n", longValued: []string{"adjustment"}, digits: true},
	"ionice":  {flags: "t", valued: "cn"},
	"time":    {flags: "pv"},
	"timeout": {flags: "v", valued: "sk", long: []string{"foreground", "preserve-status", "verbose"}, longValued: []string{"signal", "kill-after"}, operands: true},
	"stdbuf":  {valued: "ioe"},
	"command": {flags: "p"},
	"builtin": {},
	"exec":    {flags: "cl", valued: "a"},
	"busybox": {}, "toybox": {},
	"xargs": {flags: "0rtpx", valued: "nPILdEsa", long: []string{"null", "no-run-if-empty", "verbose"}, longValued: []string{"max-args", "max-procs", "replace", "delimiter", "max-lines"}},
	"sudo":  {flags: "nEHbkSAis", valued: "ughpCrtTDR", assigns: true, separate: true},
	"doas":  {flags: "n", valued: "uC", separate: true},
}

// first is the index of the first operand, -1 if an option is not known.
func (o options) first(words []word) int {
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case !w.known():
			if w.option() {
				return -1
			}
			return i
		case w.text == "--":
			return i + 1
		case w.text == "-" || !strings.HasPrefix(w.text, "-"):
			return i
		case strings.HasPrefix(w.text, "--"):
			name, _, value := strings.Cut(w.text[2:], "=")
			switch {
			case slices.Contains(o.long, name) && !value:
			case slices.Contains(o.longValued, name):
				if !value {
					i++
				}
			default:
				return -1
			}
		case o.digits && strings.Trim(w.text[1:], "0123456789") == "":
		default:
			skip, ok := o.cluster(w.text[1:])
			if !ok {
				return -1
			}
			i += skip
		}
	}
	return len(words)
}

// cluster reads letters behind one dash and says how many words their values
// take.
func (o options) cluster(letters string) (skip int, ok bool) {
	for i := 0; i < len(letters); i++ {
		c := letters[i : i+1]
		switch {
		case strings.Contains(o.flags, c):
		case strings.Contains(o.valued, c):
			if i == len(letters)-1 {
				return 1, true
			}
			return 0, true
		default:
			return 0, false
		}
	}
	return 0, true
}

// evaluators take text and run it; what it is cannot be followed.
var evaluators = map[string]bool{
	"eval": true, "source": true, ".": true, "trap": true, "alias": true, "unalias": true, "enable": true, "bind": true, "complete": true, "compgen": true,
	"fc": true, "mapfile": true, "readarray": true, "let": true, "getopts": true, "hash": true, "coproc": true, "select": true, "function": true, "shopt": true,
	"[[": true, "((": true,
}

var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "ash": true, "zsh": true, "ksh": true, "mksh": true, "rbash": true}

var assignment = regexp.MustCompile(`^[^=]*=`)

// command notes a simple command and those that it runs.
func (s *script) command(words []word, depth int) {
	name := words[0]
	c := command{words: words}
	if depth > maxDepth {
		s.obscure("it runs programs through too many others")
		return
	}
	if !name.known() || name.text == "" {
		s.obscure("the name of a program is made up at run time")
		s.commands = append(s.commands, c)
		return
	}
	// A program of that name elsewhere is another program.
	usual := !strings.Contains(name.text, "/") || path.Dir(name.text) == "/bin" || path.Dir(name.text) == "/usr/bin"
	base := path.Base(name.text)
	switch {
	case evaluators[base]:
		s.obscure("it uses %s, which runs what is made up at run time", base)
	case shells[base]:
		c.free = s.shell(words, depth) && usual
	case base == "find":
		s.find(words, depth)
	case base == "command" && len(words) > 1 && (words[1].text == "-v" || words[1].text == "-V"):
		c.free = usual
	case base == "export" || base == "readonly" || base == "declare" || base == "typeset" || base == "local" || base == "read" || base == "unset":
		c.free = s.declare(words)
	case base == "printf" && len(words) > 1 && (strings.HasPrefix(words[1].text, "-") || words[1].option()):
		s.obscure("it uses printf with options, which may set variables")
	case base == "cd" || base == "pushd" || base == "popd":
		s.moves = true
		c.free = base == "cd" && len(words) == 2 && words[1].known() && inside(words[1].text)
	case base == "set":
		c.free = len(words) > 1 && !slices.ContainsFunc(words[1:], func(w word) bool { return !w.known() || !setting.MatchString(w.text) })
	case idle[base]:
		c.free = usual && !slices.ContainsFunc(words[1:], func(w word) bool { return !w.known() })
	default:
		if o, ok := wrappers[base]; ok {
			c.free = s.wrapped(o, base, words, depth) && usual && !o.separate
		}
	}
	c.risks = risks(base, words)
	s.commands = append(s.commands, c)
}

// idle are commands that do nothing to anyone.
var idle = map[string]bool{":": true, "true": true, "false": true, "pwd": true, "exit": true, "return": true, "break": true, "continue": true, "shift": true, "wait": true}

var setting = regexp.MustCompile(`^([-+][eufxvn]+|[-+][eufxvn]*o|pipefail|errexit|nounset|xtrace|noglob)$`)

func inside(dir string) bool {
	dir = path.Clean(dir)
	return dir != "-" && !path.IsAbs(dir) && dir != ".." && !strings.HasPrefix(dir, "../") && !strings.HasPrefix(dir, "-")
}

// wrapped notes the command that a wrapper runs, and reports whether it was
// found.
func (s *script) wrapped(o options, base string, words []word, depth int) bool {
	i := o.first(words)
	if i >= 0 && o.operands {
		i++
	}
	for i >= 0 && i < len(words) && o.assigns && assignment.MatchString(words[i].text) {
		name, _, _ := strings.Cut(words[i].text, "=")
		s.variable(name)
		i++
	}
	switch {
	case i < 0:
		s.obscure("what %s runs cannot be read", base)
		return false
	case i >= len(words):
		// env alone prints the environment; xargs alone echoes.
		return base == "exec" || base == "command"
	}
	inner := slices.Clone(words[i:])
	if base == "xargs" {
		inner = append(inner, word{spread: true})
		if slices.ContainsFunc(words[1:i], func(w word) bool {
			return strings.HasPrefix(w.text, "-I") || strings.HasPrefix(w.text, "--replace")
		}) {
			for k := range inner {
				inner[k] = word{spread: true} // any of them may be the input
			}
		}
	}
	s.command(inner, depth+1)
	return true
}

// shell reads sh -c TEXT. It reports whether the text is all that the shell
// runs.
func (s *script) shell(words []word, depth int) bool {
	for i := 1; i < len(words); i++ {
		w := words[i]
		if !w.known() {
			s.obscure("what a shell runs is made up at run time")
			return false
		}
		if !strings.HasPrefix(w.text, "-") || w.text == "-" || w.text == "--" {
			return false // a file, or its input
		}
		if strings.HasPrefix(w.text, "--") || strings.Trim(w.text[1:], "ceuxn") != "" {
			s.obscure("a shell is started with the option %s", w.text)
			return false
		}
		if !strings.Contains(w.text, "c") {
			continue
		}
		if i+1 >= len(words) || !words[i+1].known() || strings.HasPrefix(words[i+1].text, "-") {
			s.obscure("what a shell runs is made up at run time")
			return false
		}
		s.parse(words[i+1].text, depth+1)
		return true
	}
	return false
}

// find notes what find runs for the files it finds.
func (s *script) find(words []word, depth int) {
	for i := 1; i < len(words); i++ {
		if w := words[i]; !w.known() || !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, w.text) {
			continue
		}
		var inner []word
		for i++; i < len(words) && words[i].text != ";" && words[i].text != "+"; i++ {
			w := words[i]
			if strings.Contains(w.text, "{}") {
				w = word{spread: true}
			}
			inner = append(inner, w)
		}
		if len(inner) > 0 {
			s.command(inner, depth+1)
		}
	}
}

// declare judges the names that a builtin sets.
func (s *script) declare(words []word) bool {
	for _, w := range words[1:] {
		name, _, _ := strings.Cut(w.text, "=")
		switch {
		case !w.static && !strings.Contains(w.text, "="):
			s.obscure("it sets a variable whose name is made up at run time")
			return false
		case strings.HasPrefix(name, "-"):
			if name != "-x" && name != "-r" && name != "-p" {
				s.obscure("it uses %s with options", words[0].text)
				return false
			}
		default:
			s.variable(name)
		}
	}
	return true
}
