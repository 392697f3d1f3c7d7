package rootfs

import (
	"path"
	"slices"
	"strings"
)

// A nameList excludes most names that match no pattern of a list, by the last
// part of each pattern. It is made once.
type nameList struct {
	exact             map[string]bool
	begin, end, other []string
}

// builtIn are the lists of this package, by their first pattern.
var builtIn = map[*string]*nameList{
	&secretNames[0]: newNameList(secretNames), &guardedNames[0]: newNameList(guardedNames),
	&askedNames[0]: newNameList(askedNames), &startNames[0]: newNameList(startNames),
}

func newNameList(patterns []string) *nameList {
	l := &nameList{exact: map[string]bool{}}
	for _, p := range patterns {
		p = path.Base(p)
		body := strings.Trim(p, "*")
		switch {
		case strings.ContainsAny(body, `*?[\`):
			l.other = append(l.other, p)
		case body == p:
			l.exact[p] = true
		case p == body+"*":
			l.begin = append(l.begin, body)
		case p == "*"+body:
			l.end = append(l.end, body)
		default:
			l.other = append(l.other, p)
		}
	}
	return l
}

// Maybe reports whether a folded part of a name matches the end of a pattern.
func (l *nameList) Maybe(part string) bool {
	return l == nil || l.exact[part] ||
		slices.ContainsFunc(l.begin, func(b string) bool { return strings.HasPrefix(part, b) }) ||
		slices.ContainsFunc(l.end, func(e string) bool { return strings.HasSuffix(part, e) }) ||
		slices.ContainsFunc(l.other, func(p string) bool { ok, _ := path.Match(p, part); return ok })
}
