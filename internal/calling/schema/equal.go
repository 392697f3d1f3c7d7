package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// limit reads a count, which may be written as 2.0.
func limit(sch *Node, key string) (int, bool) {
	n := sch.At(key)
	if !n.is('0') {
		return 0, false
	}
	r := rat(n)
	if !r.IsInt() || !r.Num().IsInt64() {
		return 1<<31 - 1, true // more than any value has
	}
	return int(r.Num().Int64()), true
}

// duplicates returns the places of two equal items, 0 and 0 if there are none.
func duplicates(v *Node) (i, j int) {
	at := make(map[string]int, len(v.Kids))
	for j, kid := range v.Kids {
		key := string(canonical(nil, kid))
		if i, ok := at[key]; ok {
			return i, j
		}
		at[key] = j
	}
	return 0, 0
}

func same(a, b *Node) bool {
	if a.Kind != b.Kind {
		return false
	}
	if a.Kind == '"' {
		return a.Text == b.Text
	}
	return string(canonical(nil, a)) == string(canonical(nil, b))
}

// canonical writes equal values the same.
func canonical(b []byte, n *Node) []byte {
	switch n.Kind {
	case '{':
		order := make([]int, len(n.Keys))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return strings.Compare(n.Keys[i], n.Keys[j]) })
		b = append(b, '{')
		for _, i := range order {
			b = canonical(strconv.AppendQuote(b, n.Keys[i]), n.Kids[i])
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for _, kid := range n.Kids {
			b = append(canonical(b, kid), ',')
		}
		return append(b, ']')
	case '0':
		return append(b, rat(n).RatString()...)
	}
	return n.Append(b)
}

// rat returns the value of a number.
func rat(n *Node) *big.Rat {
	if i, err := strconv.ParseInt(n.Text, 10, 64); err == nil {
		return new(big.Rat).SetInt64(i)
	}
	r, _ := new(big.Rat).SetString(n.Text) // a number, and not an extreme one: see parse
	return r
}

// at appends the place of an item to a path.
func at(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
