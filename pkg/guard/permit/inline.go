package permit

import (
	"regexp"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

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

// plainSed is what a script of sed may be to do nothing but print, delete and
// replace. A bracket expression may not hold the delimiter: there sed of GNU
// and of BSD differ about where it ends.
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
