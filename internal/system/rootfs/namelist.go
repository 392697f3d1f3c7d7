package rootfs

import (
	"slices"
	"strings"
)

// A nameList excludes most names that match no pattern of a list, by the last
// part of each pattern. It is made once.
type nameList struct {
	exact map[string]bool
	begin map[byte][]affix // by the first byte
	end   map[byte][]affix // by the last byte, without those of begin
	other []string
}

// An affix matches what has text before and after a star.
type affix struct{ before, after string }

func (a affix) matches(part string) bool {
	return len(part) >= len(a.before)+len(a.after) && strings.HasPrefix(part, a.before) && strings.HasSuffix(part, a.after)
}

// builtIn are the lists of this package, by their first pattern.
var builtIn = map[*string]*nameList{
	&secretNames[0]: newNameList(secretNames), &guardedNames[0]: newNameList(guardedNames),
	&askedNames[0]: newNameList(askedNames), &startNames[0]: newNameList(startNames),
}

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
