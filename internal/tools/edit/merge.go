package edit

import "strings"

// pairs aligns two lists of lines: the indices of equal ones, in order, as
// many as possible. Beyond a bound only what is alike at both ends is paired.
func pairs(a, b []string) [][2]int {
	var head, tail [][2]int
	lo := 0
	for lo < len(a) && lo < len(b) && a[lo] == b[lo] {
		head = append(head, [2]int{lo, lo})
		lo++
	}
	na, nb := len(a), len(b)
	for na > lo && nb > lo && a[na-1] == b[nb-1] {
		na, nb = na-1, nb-1
		tail = append(tail, [2]int{na, nb})
	}
	head = append(head, middle(a[lo:na], b[lo:nb], lo)...)
	for i := len(tail) - 1; i >= 0; i-- {
		head = append(head, tail[i])
	}
	return head
}

// mostCells bounds the table of middle, and with it time and memory.
const mostCells = 4 << 20

func middle(a, b []string, off int) [][2]int {
	if len(a) == 0 || len(b) == 0 || len(a)*len(b) > mostCells {
		return nil
	}
	w := len(b) + 1
	long := make([]int32, (len(a)+1)*w)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				long[i*w+j] = long[(i+1)*w+j+1] + 1
			} else {
				long[i*w+j] = max(long[(i+1)*w+j], long[i*w+j+1])
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			out = append(out, [2]int{off + i, off + j})
			i, j = i+1, j+1
		case long[(i+1)*w+j] >= long[i*w+j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// graft makes the change from want to with on got, the lines the file has where
// those of want were quoted: a line that the change keeps stays as the file has
// it, however it was quoted.
func graft(got, want, with []string, in *indents) []string {
	// Blanks at line ends that the model put where the file has none are not
	// what it wants in new lines either.
	stray := false
	for i, w := range want {
		stray = stray || w != trimRight(w) && got[i] == trimRight(got[i])
	}
	var out []string
	k := 0
	for _, p := range append(pairs(ends(want), ends(with)), [2]int{len(want), len(with)}) {
		for _, l := range with[k:p[1]] {
			if stray {
				l = trimRight(l)
			}
			out = append(out, in.line(l))
		}
		if p[0] < len(got) {
			out = append(out, got[p[0]])
		}
		k = p[1] + 1
	}
	return out
}

func ends(ls []string) []string {
	out := make([]string, len(ls))
	for i, l := range ls {
		out[i] = trimRight(l)
	}
	return out
}

// texts are the lines without where they are.
func texts(ls []line) []string {
	out := make([]string, len(ls))
	for i, l := range ls {
		out[i] = l.s
	}
	return out
}

// closed joins lines, with a newline at the end if nl is set and there are any.
func closed(ls []string, nl bool) string {
	s := strings.Join(ls, "\n")
	if nl && len(ls) > 0 {
		s += "\n"
	}
	return s
}
