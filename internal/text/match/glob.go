// Package match finds paths by patterns, names of models by patterns, and similar texts by
// the words that they share, with SQLite's FTS5 and without.
package match

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/text/unicode/norm"
)

const (
	maxLength  = 4 << 10
	maxChoices = 1000 // of all braces together: each is tried
	special    = `*?[]{}\!`
)

// Path reports whether a path with slashes fits a pattern: as doublestar reads it, or
// with any of its parts as the name that is spelled so. app/[id]/** is for app/i and
// app/d, and for app/[id], which web frameworks call a directory. A pattern that Check
// refuses fits only the path that is spelled like it.
func Path(pattern, name string) bool {
	if pattern == name {
		return true
	}
	if !strings.ContainsAny(pattern, special) || CheckPattern(pattern) != nil {
		return false
	}
	return newListed(pattern).matches(name, strings.Split(name, "/"))
}

// A listed pattern was checked. Without braces, brackets and backslashes, which may go
// across a slash, it fits as its parts do.
type listed struct {
	pattern string
	parts   []string
	whole   bool // it may go across a slash
}

func newListed(p string) listed {
	return listed{p, strings.Split(p, "/"), strings.ContainsAny(p, `{[\`)}
}

func (p listed) matches(name string, names []string) bool {
	if p.whole {
		if ok, _ := doublestar.Match(p.pattern, name); ok { // one that is not valid fits nothing
			return true
		}
	}
	return PathParts(p.parts, names, fits)
}

// Covers reports whether a pattern of a rule about paths covers p, a path from the top of a
// workspace: it covers the paths it matches and everything below them, and a pattern without a
// slash matches at any depth. generous is for rules that take rights away: changing case or the
// form of accents does not evade them, and a backward range is read forward. Such a rule is also tried as it is written, since folding
// may remove letters from a range.
func Covers(pattern, p string, generous bool) bool {
	if generous {
		compose := norm.NFC.String
		fold := func(s string) string { return compose(strings.ToLower(s)) }
		either := func(g string) bool {
			return covers(g, p, true) || covers(compose(g), compose(p), true) || covers(fold(g), fold(p), true)
		}
		turned := Forward(pattern)
		return either(pattern) || turned != pattern && either(turned)
	}
	return covers(pattern, p, false)
}

// Forward returns a pattern with the ends of its backward ranges exchanged. As it stands [z-a] fits nothing
// but the name that is spelled so, and to git z: a rule that takes rights away means what its author meant.
func Forward(pattern string) string {
	out := []rune(pattern)
	for i := 0; i < len(out); i++ {
		switch out[i] {
		case '\\':
			i++
		case '[':
			end := i + 1
			for end < len(out) && (out[end] != ']' || end == i+1) {
				if out[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(out) {
				return string(out) // no range is closed from here on
			}
			forward(out[i+1 : end])
			i = end
		}
	}
	return string(out)
}

// forward is [Forward] for what is between brackets.
func forward(class []rune) {
	low := -1 // of the character before
	start := 0
	if class[0] == '^' || class[0] == '!' {
		start = 1
	}
	for i := start; i < len(class); i++ {
		at := i
		if class[i] == '\\' && i+1 < len(class) {
			i++
			at = i
		} else if class[i] == '-' && low >= 0 && i+1 < len(class) {
			if i++; class[i] == '\\' && i+1 < len(class) {
				i++
			}
			if class[i] < class[low] {
				class[i], class[low] = class[low], class[i]
			}
			low = -1
			continue
		}
		low = at
	}
}

// Rests returns what is left of a pattern below a name that its beginning matches: for the pattern
// conf/*/key and the name conf/a it is key. Both come by their elements.
func Rests(pattern, name []string) (rests [][]string) {
	skip := func(at []bool) []bool { // ** stands for none, too
		for i := range pattern {
			at[i+1] = at[i+1] || at[i] && pattern[i] == "**"
		}
		return at
	}
	at := make([]bool, len(pattern)+1)
	at[0] = true
	at = skip(at)
	for _, n := range name {
		next := make([]bool, len(at))
		for i := range pattern {
			if at[i] && pattern[i] == "**" {
				next[i] = true
			} else if at[i] && Covers(pattern[i], n, true) {
				next[i+1] = true
			}
		}
		at = skip(next)
	}
	for i, here := range at {
		if here {
			rests = append(rests, pattern[i:])
		}
	}
	return rests
}

func covers(pattern, p string, generous bool) bool {
	pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
	p = path.Clean(p)
	if !generous && (path.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../")) {
		return false
	}
	patterns := []string{pattern, pattern + "/**"}
	if clean := path.Clean(pattern); generous && clean == "." {
		patterns = append(patterns, "**") // the workspace
	} else if generous && clean != pattern {
		patterns = append(patterns, clean, clean+"/**")
	}
	if !strings.Contains(pattern, "/") {
		patterns = append(patterns, "**/"+pattern, "**/"+pattern+"/**")
	}
	return slices.ContainsFunc(patterns, func(g string) bool { return Path(g, p) })
}

// PathParts matches a path part by part, ** with any number of them. What follows the last ** that was seen is tried at each
// later place, which is enough, as for one star in a name.
func PathParts(parts, names []string, fits func(part, name string) bool) bool {
	i, j, star, from := 0, 0, -1, 0
	for j < len(names) {
		switch {
		case i < len(parts) && parts[i] == "**":
			star, from = i, j
			i++
		case i < len(parts) && fits(parts[i], names[j]):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	for i < len(parts) && parts[i] == "**" {
		i++
	}
	return i == len(parts)
}

func fits(part, name string) bool {
	if !strings.ContainsAny(part, special) {
		return part == name
	}
	ok, _ := doublestar.Match(part, name) // one that is not valid is only a name
	return ok || part == name
}

// CheckPattern returns an error if a pattern would take too much work, with the reason for its
// author.
func CheckPattern(pattern string) error {
	if len(pattern) > maxLength {
		return fmt.Errorf("the pattern of %d characters is too long", len(pattern))
	}
	if choices(pattern) > maxChoices {
		return fmt.Errorf("the pattern %.80q has more than %d alternatives; write several patterns", pattern, maxChoices)
	}
	return nil
}

// choices returns the number of patterns without braces that a pattern expands to, or a number
// above maxChoices.
func choices(pattern string) int {
	type group struct{ before, here int } // choices of the alternatives before this one, and of this one
	stack, here := []group{}, 1
	for i := 0; i < len(pattern) && here <= maxChoices; i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			stack = append(stack, group{0, here})
			here = 1
		case ',':
			if n := len(stack); n > 0 {
				stack[n-1].before += here
				here = 1
			}
		case '}':
			if n := len(stack); n > 0 {
				here = (stack[n-1].before + here) * stack[n-1].here
				stack = stack[:n-1]
			}
		}
	}
	for _, g := range stack { // braces that are not closed
		here = max(here, (g.before+1)*g.here)
	}
	return here
}

// A List chooses files as a person writes it: *.go; src/; ./cmd/**/*.go,*.md; *.js,!*.test.js.
type List struct {
	text        string
	take, leave []listed
}

// ParseList reads a list: patterns with commas between them, from the top of the workspace. A
// pattern without a slash matches a name in any directory; one that ends with a slash, or whose
// last part has no star, also matches everything below a directory; one after ! excludes.
func ParseList(text string) (List, error) {
	l := List{text: text}
	all := globSplit(text)
	for _, p := range all {
		if dir, _, ok := strings.Cut(p, "/"); ok && dir != strings.TrimSpace(dir) && !strings.HasPrefix(strings.TrimSpace(p), "!") && CheckPattern(p) == nil {
			l.take = append(l.take, newListed(p)) // a name may have blanks around it
		}
		p, out := strings.CutPrefix(strings.TrimSpace(p), "!")
		p = strings.TrimSpace(p)
		inside := strings.TrimPrefix(strings.TrimPrefix(p, "./"), "/")
		if inside == "" {
			continue
		}
		switch {
		case strings.HasSuffix(inside, "/"):
			inside += "**"
		case inside == p && !strings.Contains(inside, "/"):
			inside = "**/" + inside
		}
		if err := CheckPattern(inside); err != nil {
			return l, err
		}
		list := &l.take
		if out {
			list = &l.leave
		}
		*list = append(*list, newListed(inside))
		if !strings.ContainsAny(path.Base(inside), "*?") {
			inside += "/**"
			*list = append(*list, newListed(inside))
		}
	}
	if len(all) > 1 && len(l.take) > 0 && CheckPattern(text) == nil {
		l.take = append(l.take, newListed(text)) // a name may have a comma in it
	}
	if len(l.take) == 0 && len(l.leave) == 0 && text != "" {
		return l, fmt.Errorf("the pattern %q names no file; write for example **/*.go", text)
	}
	return l, nil
}

// split cuts at commas that are not in braces or brackets.
func globSplit(text string) []string {
	var out []string
	from, depth := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth <= 0 {
				out = append(out, text[from:i])
				from = i + 1
			}
		}
	}
	return append(out, text[from:])
}

// Match reports whether a path is chosen. An empty list chooses all, one that only
// leaves out all others.
func (l List) Match(name string) bool {
	if l.text == name && l.text != "" {
		return true
	}
	names := strings.Split(name, "/")
	match := func(p listed) bool { return p.pattern == name || p.matches(name, names) }
	return (len(l.take) == 0 || slices.ContainsFunc(l.take, match)) && !slices.ContainsFunc(l.leave, match)
}

// Ref reports whether the name of a model or a tool matches a pattern; * stands for any text,
// including none and slashes.
func Ref(pattern, ref string) bool {
	head, tail, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == ref
	}
	ref, ok := strings.CutPrefix(ref, head)
	if !ok {
		return false
	}
	parts := strings.Split(tail, "*")
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		_, after, ok := strings.Cut(ref, part)
		if !ok {
			return false
		}
		ref = after
	}
	return strings.HasSuffix(ref, last)
}

// Pick returns the entry of a table for ref: the one of its exact name, or else of the longest
// pattern that matches, or of equally long ones the first in the alphabet.
func Pick[V any](table map[string]V, ref string) (v V, ok bool) {
	if v, ok = table[ref]; ok {
		return v, true
	}
	best := ""
	for pattern, entry := range table {
		if Ref(pattern, ref) && (!ok || len(pattern) > len(best) || len(pattern) == len(best) && pattern < best) {
			best, v, ok = pattern, entry, true
		}
	}
	return v, ok
}
