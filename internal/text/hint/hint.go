// Package hint makes the commands of adroit that the product prints in hints, errors,
// prompts and tables. Nothing else does: a check refuses such a command in any other
// string, and a test holds each template against the real commands.
//
//	apierr.WithHint(err, hint.Command("jobs cancel %s", id)+" stops it")
//
// It does not print, and knows no command. What a help page says is in the command.
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

// Record has seen get the template of each command as it is made, and the command:
// a test runs what was printed in the state in which it was.
func Record(seen func(template, command string)) { record.Store(&seen) }

// As has printed commands begin with the name of the program that prints them; "" is
// adroit.
func As(name string) {
	if name == "" {
		name = "adroit"
	}
	program.Store(&name)
}

// Program is the name of this program.
func Program() string {
	if name := program.Load(); name != nil {
		return *name
	}
	return "adroit"
}

// Place has add put into each command what the person gave to lead to the data, the
// server and the directory of this command. It gets the words of a command without
// the program and returns them all; nil adds nothing.
func Place(add func(words []string) []string) {
	if add == nil {
		place.Store(nil)
		return
	}
	place.Store(&add)
}

// Command is a command to type. The template, a constant, has its words without the program,
// with %s for each of values, which are quoted for a shell where they need it. It does
// what it says only for the person who gave this command: what is kept, replayed, or
// answered to other machines has [Name].
func Command(template string, values ...string) string {
	words := fill(template, values)
	if add := place.Load(); add != nil {
		words = (*add)(words)
	}
	return join(template, Program(), words)
}

// Name is a command as what it is called wherever it runs.
func Name(template string, values ...string) string {
	return join(template, Program(), fill(template, values))
}

// Replayed is a command in text that a replay makes again: that of adroit in each
// program, since another program than the one that began a job may go on with it.
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

// Quote is a word as a shell takes it, on one line, with nothing unseen in it.
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
