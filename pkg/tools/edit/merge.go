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

// graft makes the change from want to with on got, which is what the file has
// where want was quoted: a line that the change keeps stays as the file has
// it, however it was quoted. at says which line of got each of want is, -1 if
// none. It reports false where the change touches a line that was quoted
// wrongly, or goes between two lines that are not neighbours in the file:
// there nobody can tell what the file should say.
func graft(got, want, with []string, at []int, in *indents) ([]string, bool) {
	var out []string
	cur := 0
	// Blanks at line ends that the model put where the file has none are not
	// what it wants in new lines either.
	stray := false
	for i, g := range at {
		stray = stray || g >= 0 && want[i] != trimRight(want[i]) && got[g] == trimRight(got[g])
	}
	put := func(i, j, k, l int) bool { // want[i:j] becomes with[k:l]
		if i == j && k == l {
			return true
		}
		from, to := 0, 0
		switch {
		case j > i:
			for n := i; n < j; n++ {
				if at[n] < 0 || n > i && at[n] != at[n-1]+1 {
					return false
				}
			}
			from, to = at[i], at[j-1]+1
		case i == 0:
			if len(at) > 0 && at[0] != 0 {
				return false
			}
		case i == len(want):
			if at[i-1] != len(got)-1 {
				return false
			}
			from, to = len(got), len(got)
		default:
			if at[i-1] < 0 || at[i] != at[i-1]+1 {
				return false
			}
			from, to = at[i], at[i]
		}
		if from < cur {
			return false
		}
		out = append(out, got[cur:from]...)
		for _, l := range with[k:l] {
			if stray {
				l = trimRight(l)
			}
			out = append(out, in.line(l))
		}
		cur = to
		return true
	}
	i, k := 0, 0
	for _, p := range append(pairs(ends(want), ends(with)), [2]int{len(want), len(with)}) {
		if !put(i, p[0], k, p[1]) {
			return nil, false
		}
		i, k = p[0]+1, p[1]+1
	}
	return append(out, got[cur:]...), true
}

func ends(ls []string) []string {
	out := make([]string, len(ls))
	for i, l := range ls {
		out[i] = trimRight(l)
	}
	return out
}

func identity(n int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	return at
}

// texts are the lines without where they are.
func texts(ls []line) []string {
	out := make([]string, len(ls))
	for i, l := range ls {
		out[i] = l.s
	}
	return out
}

// closed joins lines, with a newline at the end if nl says so and there are any.
func closed(ls []string, nl bool) string {
	s := strings.Join(ls, "\n")
	if nl && len(ls) > 0 {
		s += "\n"
	}
	return s
}
