package rootfs

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/adroit-run/adroit/internal/text/match"
	"golang.org/x/text/unicode/norm"
)

// names.txt lists the names that no tool may read or write, whatever its permissions, and those
// that need somebody's consent.
//
//go:embed names.txt
var namesText string

var (
	nameSections, nameKinds = parseNames(namesText)

	secretNames  = nameSections["secret"]
	openNames    = nameSections["open"]
	startNames   = nameSections["start"]
	guardedNames = nameSections["guarded"]
	askedNames   = nameSections["asked"]
)

// A nameKind is names of a section that programs obey for the same reason.
type nameKind struct {
	what     string // such a file does, to stand behind its name
	patterns []string
}

// parseNames reads names.txt.
func parseNames(text string) (sections map[string][]string, kinds []nameKind) {
	sections = map[string][]string{}
	section, what := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		head, isHead := strings.CutPrefix(line, "[")
		switch {
		case line == "" || line[0] == '#':
		case isHead:
			section, what, _ = strings.Cut(head, "]")
			if what = strings.TrimSpace(what); what != "" {
				kinds = append(kinds, nameKind{what: what})
			}
		default:
			sections[section] = append(sections[section], line)
			if what != "" {
				kinds[len(kinds)-1].patterns = append(kinds[len(kinds)-1].patterns, line)
			}
		}
	}
	return sections, kinds
}

// Obeyed reports how programs outside the sandbox use a file of a clean name, as the end of a
// sentence about it, and its place among the kinds of such files; what is "" if they do not use
// it. guarded is set where no tool may write it.
func Obeyed(p string) (what string, place int, guarded bool) {
	parts := foldedParts(p)
	for i, k := range nameKinds {
		if listed(parts, k.patterns) {
			return k.what, i, listed(parts, guardedNames)
		}
	}
	return "", 0, false
}

// NeedsApproval reports whether a clean name is one of askedNames.
func NeedsApproval(p string) bool { return listed(foldedParts(p), askedNames) }

// Fold gives the spellings that some file system takes for one name a single
// form: case, full-width letters, accents, letters of several characters, characters
// that are not seen, NTFS streams, trailing dots and spaces.
func Fold(part string) string {
	if IsPlain(part) { // as nearly all are: the rest below comes to the same, slowly
		part = strings.ToLower(part)
	} else {
		part = FoldUnicode(part)
	}
	if name, _, ok := strings.Cut(part, ":"); ok && name != "" {
		part = name
	}
	return strings.TrimRight(part, ". ")
}

func IsPlain(part string) bool {
	for i := range len(part) {
		if part[i] < ' ' || part[i] > '~' {
			return false
		}
	}
	return true
}

func FoldUnicode(part string) string {
	return norm.NFC.String(strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp), unicode.IsControl(r), unicode.Is(unicode.Mn, r), r == 0x034f:
			return -1
		case r >= 0xff01 && r <= 0xff5e:
			r -= 0xfee0
		}
		least := r
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			least = min(least, o)
		}
		return unicode.ToLower(least)
	}, norm.NFD.String(part)))
}

// DenyList change the list for one operator: more names, and fewer. Patterns are
// as above; Deny is stronger than Allow. A nil Names changes nothing. It must
// not change while it is used.
type DenyList struct{ Deny, Allow []string }

// maxChoices bounds the names that a pattern with lists in braces is for.
const maxChoices = 100

// CheckPattern refuses a pattern that could never match.
func CheckPattern(pattern string) error {
	if !deniable(pattern) {
		return fmt.Errorf("the name %q does not match any file of a workspace", pattern)
	}
	whole := func(p string) bool { _, err := path.Match(p, ""); return err == nil }
	if parts := strings.Split(pattern, "/"); whole(pattern) && slices.ContainsFunc(parts, func(part string) bool { return !whole(part) }) {
		return fmt.Errorf("the name %q has a slash after a backslash or in brackets, where it parts no names: write it alone", pattern)
	}
	if choices(pattern) == nil {
		return fmt.Errorf("the name %q has more than %d alternatives: write several", pattern, maxChoices)
	}
	return nil
}

// CheckAllowed refuses the patterns that CheckPattern refuses, and patterns that would allow more
// than they spell.
func CheckAllowed(pattern string) error {
	if match.Forward(pattern) != pattern {
		return fmt.Errorf("the name %q has a range whose ends are the wrong way round", pattern)
	}
	if len(choices(pattern)) != 1 {
		return fmt.Errorf("the name %q has a list in braces: write a name for each, or ? for each brace of one that has them", pattern)
	}
	if !IsPlain(pattern) {
		return fmt.Errorf("the name %q has letters that file systems spell in two ways: write ? for each", pattern)
	}
	if path.Clean(pattern) != pattern || slices.Contains(strings.Split(pattern, "/"), "**") {
		return fmt.Errorf("the name %q is not the end of a path, a name for each part", pattern)
	}
	return CheckPattern(pattern)
}

func deniable(pattern string) bool {
	return pattern != "" && path.Clean(pattern) != "." && !strings.HasPrefix(pattern, "/") && !slices.Contains(strings.Split(pattern, "/"), "..")
}

// choices expands the braces of a pattern; the first result is the pattern itself, since a name
// may contain braces. One whose ranges are the wrong way round also counts with those turned. It is nil if
// there are too many.
func choices(pattern string) []string {
	all := []string{pattern}
	if turned := match.Forward(pattern); turned != pattern {
		all = append(all, turned)
	}
	for i := 0; i < len(all); i++ {
		before, list, after := braces(all[i])
		for _, one := range list {
			if all = append(all, before+one+after); len(all) > maxChoices {
				return nil
			}
		}
	}
	return all
}

// braces cuts a pattern at its first list in braces.
func braces(p string) (before string, list []string, after string) {
	for open := 0; open < len(p); open++ {
		if p[open] == '\\' {
			open++
			continue
		} else if p[open] != '{' {
			continue
		}
		list, from, depth := []string(nil), open+1, 0
		for i := open + 1; i < len(p); i++ {
			switch {
			case p[i] == '\\':
				i++
			case p[i] == '{':
				depth++
			case p[i] == '}' && depth > 0:
				depth--
			case p[i] == ',' && depth == 0:
				list, from = append(list, p[from:i]), i+1
			case p[i] == '}' && list != nil:
				return p[:open], append(list, p[from:i]), p[i+1:]
			case p[i] == '}':
				i = len(p) // one name in braces is no list
			}
		}
	}
	return p, nil, ""
}

// Spelled returns the patterns of Deny with braces expanded.
func (n *DenyList) Spelled() []string {
	if n == nil {
		return nil
	}
	var all []string
	for _, p := range n.Deny {
		p = path.Clean(p)
		all = append(all, p)
		for _, c := range choices(p) {
			if c != p && deniable(c) {
				all = append(all, path.Clean(c))
			}
		}
	}
	return all
}

// denied reports whether Deny has the name p or one above it. Folding makes some patterns narrower:
// a range has fewer letters, ?? is not for a letter and its accent, and a backslash before an accent
// is left without it. They count as they are written, too.
func (n *DenyList) denied(p string) bool {
	all := n.Spelled()
	if listed(foldedParts(p), folded(all)) {
		return true
	}
	var precise, composed []string
	for _, pattern := range all {
		if strings.ContainsAny(pattern, `?[\`) {
			precise, composed = append(precise, pattern), append(composed, norm.NFC.String(pattern))
		}
	}
	return precise != nil && (listed(strings.Split(p, "/"), precise) || listed(strings.Split(norm.NFC.String(p), "/"), composed))
}

// quick returns patterns for folded names that match everything that Deny matches.
func (n *DenyList) quick() []string {
	all := folded(n.Spelled())
	for _, p := range all {
		last := p[strings.LastIndexByte(p, '/')+1:] // what nameList looks at
		if i := strings.IndexAny(last, `?[\`); i >= 0 {
			all = append(all, last[:i]+"*")
		}
	}
	return all
}

// Digest identifies the names that the list and the operator's changes to it deny.
func (n *DenyList) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q", namesText)
	if n != nil {
		fmt.Fprintf(h, "%q %q", n.Deny, n.Allow)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// NameError returns an error in words for a model or a person if name, as it
// is written, is on the list.
func (n *DenyList) NameError(name string) error { return n.Check(name, path.Clean(name), false) }

// CheckName returns an error if the list forbids p, a clean name.
func CheckName(name, p string, write bool) error { return (*DenyList)(nil).Check(name, p, write) }

func (n *DenyList) Check(name, p string, write bool) error {
	if !write && (n == nil || len(n.Deny) == 0) && !maybeSecret(p) { // as nearly all are
		return nil
	}
	parts := foldedParts(p)
	if n.secret(p, parts) {
		return &PathError{Name: name, Reason: "is on the list of secrets and repository internals that no tool may touch", Advice: "ask the person who runs you"}
	}
	if write && listed(parts, guardedNames) {
		return &PathError{Name: name, Reason: "configures agents or editors and may be read but not changed", Advice: "ask the person who runs you"}
	}
	return nil
}

// maybeSecret reports whether a part of a clean name could be on the built-in list.
func maybeSecret(p string) bool {
	quick := builtIn()[&secretNames[0]]
	for part := range strings.SplitSeq(p, "/") {
		if quick.Maybe(Fold(part)) {
			return true
		}
	}
	return false
}

func (n *DenyList) secret(p string, parts []string) bool {
	secret := listed(parts, secretNames)
	if n != nil {
		secret = secret && !listed(parts, folded(n.Allow)) || n.denied(p)
	}
	return secret
}

// Denies reports whether Deny has the name p, a path with slashes, or one above it.
func (n *DenyList) Denies(p string) bool { return n.denied(p) }

func foldedParts(p string) []string {
	parts := strings.Split(p, "/")
	for i := range parts {
		parts[i] = Fold(parts[i])
	}
	return parts
}

func folded(patterns []string) []string {
	var out []string
	for _, p := range patterns {
		out = append(out, strings.Join(foldedParts(p), "/"))
	}
	return out
}

func listed(parts []string, patterns []string) bool {
	var quick *nameList
	if len(patterns) > 0 {
		quick = builtIn()[&patterns[0]]
	}
	for i, part := range parts {
		if !quick.Maybe(part) {
			continue
		}
		if quick != nil && slices.Contains(openNames, part) {
			continue // what the operator denies is denied
		}
		for _, pattern := range patterns {
			n := strings.Count(pattern, "/")
			if n == 0 && fits(pattern, part) || n > 0 && i >= n && fitAll(strings.Split(pattern, "/"), parts[i-n:i+1]) ||
				n > 0 && strings.Contains(pattern, "**") && endFits(strings.Split(pattern, "/"), parts[:i+1]) {
				return true
			}
		}
	}
	return false
}

func fitAll(patterns, parts []string) bool {
	for i, p := range patterns {
		if !fits(p, parts[i]) {
			return false
		}
	}
	return true
}

// endFits matches the last parts of a path, of which ** is for any number.
func endFits(patterns, parts []string) bool {
	return match.PathParts(append([]string{"**"}, patterns...), parts, fits)
}

// fits matches a name with a pattern, which is for the name that is spelled like it too:
// [id] is for i and d, and for [id].
func fits(pattern, name string) bool {
	ok, _ := path.Match(pattern, name) // one that is not valid is only a name
	return ok || pattern == name
}

// A Class is an entry's reason for protection.
type Class int

const (
	GitEntry     Class = iota + 1 // named .git: a directory, a file or a link
	SecretName                    // not to be read by commands
	ConfigName                    // not to be made or changed by commands
	secretConfig                  // neither
)

func (c Class) Secret() bool { return c == SecretName || c == secretConfig }
func (c Class) Config() bool { return c == ConfigName || c == secretConfig }

// A Classifier sorts out quickly the many names that need no protection. What they
// let through is judged as the file tools do.
type Classifier struct {
	names *DenyList
	*nameList
}

func NewClassifier(n *DenyList) *Classifier {
	patterns := slices.Concat(secretNames, guardedNames, askedNames)
	if n != nil {
		patterns = slices.Concat(patterns, n.quick())
	}
	return &Classifier{n, newNameList(patterns)}
}

// Class classifies a name relative to the tree; 0 needs no protection.
func (s *Classifier) Class(rel string) Class {
	parts := foldedParts(rel)
	secret := s.names.secret(rel, parts)
	switch {
	case secret && listed(parts, startNames):
		return secretConfig
	case secret:
		return SecretName
	case listed(parts, guardedNames), listed(parts, askedNames):
		return ConfigName
	}
	return 0
}

// Refusal returns the reason why a command may not leave a file of that name.
func Refusal(rel string) string {
	if NeedsApproval(rel) {
		return needsYes
	}
	return ConfiguresPrograms
}

// RefuseConfig is like refuses where the state before the command is not known.
func RefuseConfig(names *DenyList) func(dir int, rel string) string {
	s := NewClassifier(names)
	return func(_ int, rel string) string {
		if path.Base(rel) == ".git" || s.Maybe(Fold(path.Base(rel))) && s.Class(rel).Config() {
			return Refusal(rel)
		}
		return ""
	}
}

const (
	ConfiguresPrograms = "configures programs that run outside of the sandbox"
	needsYes           = "says what runs later without a question; write it with a file tool, which asks for approval"
)

// A nameList excludes most names that match no pattern of a list, by the last
// part of each pattern. It is made once.
type nameList struct {
	exact map[string]bool
	begin map[byte][]affix // by the first byte
	end   map[byte][]affix // by the last byte, without those of begin
	other []string
}

// An affix matches names by the text before and after a star.
type affix struct{ before, after string }

func (a affix) matches(part string) bool {
	return len(part) >= len(a.before)+len(a.after) && strings.HasPrefix(part, a.before) && strings.HasSuffix(part, a.after)
}

// builtIn are the lists of this package, by their first pattern.
var builtIn = sync.OnceValue(func() map[*string]*nameList {
	return map[*string]*nameList{
		&secretNames[0]: newNameList(secretNames), &guardedNames[0]: newNameList(guardedNames),
		&askedNames[0]: newNameList(askedNames), &startNames[0]: newNameList(startNames),
	}
})

func newNameList(patterns []string) *nameList {
	l := &nameList{exact: map[string]bool{}, begin: map[byte][]affix{}, end: map[byte][]affix{}}
	for _, p := range patterns {
		p = p[strings.LastIndexByte(p, '/')+1:]
		before, after, star := strings.Cut(p, "*")
		switch {
		case strings.ContainsAny(before+after, `*?[\`) || star && before+after == "":
			l.other = append(l.other, p)
		case !star:
			l.exact[p] = true
		case before != "":
			l.begin[before[0]] = append(l.begin[before[0]], affix{before, after})
		default:
			l.end[after[len(after)-1]] = append(l.end[after[len(after)-1]], affix{before, after})
		}
	}
	return l
}

// Maybe reports whether a folded part of a name matches the end of a pattern.
func (l *nameList) Maybe(part string) bool {
	if l == nil || l.exact[part] {
		return true
	}
	match := func(a affix) bool { return a.matches(part) }
	return part != "" && (slices.ContainsFunc(l.begin[part[0]], match) || slices.ContainsFunc(l.end[part[len(part)-1]], match)) ||
		slices.ContainsFunc(l.other, func(p string) bool { return fits(p, part) })
}
