// Package hint renders the commands of adroit that the product prints in hints, errors, prompts
// and tables. No other package does: a check refuses such a command in any other string, and a
// test runs each template against the real commands.
//
//	apierr.WithHint(err, hint.Command("jobs cancel %s", id)+" stops it")
//
// It does not print, and knows no command. The text of a help page is in the command.
package hint

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

var (
	place   atomic.Pointer[func(words []string) []string]
	program atomic.Pointer[string]
	record  atomic.Pointer[func(template, command string)]
)

// Record makes seen get the template of each command as it is made, and the command: a test runs
// printed commands in the state in which they were printed.
func Record(seen func(template, command string)) { record.Store(&seen) }

// As has printed commands begin with the name of the program that prints them; "" is
// adroit.
func As(name string) {
	if name == "" {
		name = "adroit"
	}
	program.Store(&name)
}

// Program returns the name of this program.
func Program() string {
	if name := program.Load(); name != nil {
		return *name
	}
	return "adroit"
}

// Place sets add, which adds to each command the flags by which the user located the data, the
// server and the directory of this command. It gets the words of a command without the program and
// returns them all; nil adds nothing.
func Place(add func(words []string) []string) {
	if add == nil {
		place.Store(nil)
		return
	}
	place.Store(&add)
}

// Command renders a command to type. The template, a constant, has its words without the program,
// with %s for each of values, which are quoted for a shell where necessary. It works as described
// only for the person who gave this command: text that is kept, replayed, or sent to other
// machines uses [Name].
func Command(template string, values ...string) string {
	words := fill(template, values)
	if add := place.Load(); add != nil {
		words = (*add)(words)
	}
	return join(template, Program(), words)
}

// Name renders a command by its name alone, which is the same wherever it runs.
func Name(template string, values ...string) string {
	return join(template, Program(), fill(template, values))
}

// Replayed renders a command for text that a replay must reproduce: it always names the program
// adroit, since a job that one program began may be resumed by another.
func Replayed(template string, values ...string) string {
	return join(template, "adroit", fill(template, values))
}

func join(template, program string, words []string) string {
	command := strings.Join(append([]string{program}, words...), " ")
	if seen := record.Load(); seen != nil {
		(*seen)(template, command)
	}
	return command
}

// fill returns the words of a template with its values.
func fill(template string, values []string) []string {
	words := strings.Split(template, " ")
	n := 0
	for i, w := range words {
		if c := strings.Count(w, "%s"); c > 0 && n+c <= len(values) {
			for _, v := range values[n : n+c] {
				w = strings.Replace(w, "%s", Quote(v), 1)
			}
			words[i], n = w, n+c
		}
	}
	if n != len(values) || strings.Count(template, "%s") != n {
		panic(fmt.Sprintf("hint: %d values for the template %q", len(values), template))
	}
	return words
}

// Quote quotes a word for a shell, on one line, with no invisible characters.
func Quote(word string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("@%+=:,./_-", r)
	}
	seen := func(r rune) bool { return r != utf8.RuneError && unicode.IsPrint(r) }
	switch every := func(ok func(rune) bool) bool {
		return !slices.ContainsFunc([]rune(word), func(r rune) bool { return !ok(r) })
	}; {
	case word != "" && every(plain):
		return word
	case every(seen):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(word); {
		r, n := utf8.DecodeRuneInString(word[i:])
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case seen(r):
			b.WriteRune(r)
		default:
			for _, c := range []byte(word[i : i+n]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		}
		i += n
	}
	return b.String() + "'"
}
