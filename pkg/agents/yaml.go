package agents

import (
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
)

// Kinds of nodes.
const (
	null    = plainyaml.Null
	boolean = plainyaml.Boolean
	number  = plainyaml.Number
	text    = plainyaml.Text
	list    = plainyaml.List
	mapping = plainyaml.Mapping
)

// A node is a value of front matter with its place.
type node = plainyaml.Node

// frontMatter reads YAML that begins on the second line of a file. What is no YAML is
// read as the programs read it that such files are written for, line by line: a key that
// lenient names has for its text what stands behind it. All else is refused by its line.
func frontMatter(src string, rep *report, lenient func(key, value string) bool) *node {
	doc, err := plainyaml.Parse(src, 2)
	if err != nil {
		quoted, keys := quoteText(src, lenient)
		again, worse := plainyaml.Parse(quoted, 2)
		if keys == nil || worse != nil {
			rep.at(err.Place, Error, err.Hint, "the front matter %s", err.Message)
			return nil
		}
		for _, k := range keys {
			rep.at(k.Place, Note, "quote it", "the %s is not valid YAML and was taken as it is", k.Text)
		}
		doc = again
	}
	return doc.Read(func(p place, hint, words string) {
		rep.at(p, Error, hint, "%s", strings.Replace(words, "it is", "the front matter is", 1))
	})
}

// agentText are the keys of agent files that hold text, or names between commas. Keys
// that decide more are YAML or nothing.
func agentText(key, value string) bool {
	return slices.Contains([]string{"name", "description", "model", "color", "tools", "disallowedTools"}, key) && isWords(value)
}

// skillText are the keys of skills: those that are not ours are text to us, whatever they
// are to others.
func skillText(key, value string) bool {
	return key != "name" && key != "description" || isWords(value)
}

// isWords reports whether a value that is no YAML was meant as words, and not begun as
// something else and left unfinished.
func isWords(value string) bool {
	if value == "" || strings.ContainsAny(value[:1], "[{|>") {
		return false
	}
	return !strings.ContainsAny(value[:1], `"'`) || len(value) > 1 && value[len(value)-1] == value[0]
}

var frontKey = lazyregexp.New(`^([A-Za-z][A-Za-z0-9_-]*):(?:[ \t]+(.*)|)$`)

// quoteText writes the values that are no YAML by themselves, and that may be text, as
// quoted text. Each key keeps its line. It returns the keys too.
func quoteText(src string, lenient func(key, value string) bool) (string, []node) {
	lines := strings.Split(src, "\n")
	var keys []node
	for from := 0; from < len(lines); {
		m := frontKey.FindStringSubmatch(lines[from])
		to := from + 1
		for to < len(lines) && frontKey.FindStringSubmatch(lines[to]) == nil && !strings.HasPrefix(lines[to], "#") {
			to++
		}
		if m == nil {
			from = to
			continue
		}
		value := strings.Join(strings.Fields(strings.Join(append([]string{m[2]}, lines[from+1:to]...), " ")), " ")
		if _, err := plainyaml.Parse(strings.Join(lines[from:to], "\n"), 1); err != nil && lenient(m[1], value) {
			if n := len(value); n > 1 && strings.ContainsAny(value[:1], `"'`) && value[0] == value[n-1] {
				value = value[1 : n-1]
			}
			keys = append(keys, node{Place: plainyaml.At(2+from, 1), Text: m[1]})
			lines[from] = m[1] + ": '" + strings.ReplaceAll(value, "'", "''") + "'"
			clear(lines[from+1 : to])
		}
		from = to
	}
	return strings.Join(lines, "\n"), keys
}
