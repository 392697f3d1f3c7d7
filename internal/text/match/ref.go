package match

import "strings"

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
