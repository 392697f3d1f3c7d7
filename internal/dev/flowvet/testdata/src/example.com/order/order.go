package order

import (
	"maps"
	"reflect"
	"slices"
	"sort"

	"github.com/adroit-run/adroit/pkg/flow"
)

type pair struct{ k, v string }

func bad(r *flow.Run, m map[string]string) string {
	for k := range m { // want `a range over a map in workflow code: the order of a map differs each time; range over slices.Sorted\(maps.Keys\(m\)\)`
		_, _ = flow.Do[string](r, "x", k, nil)
	}
	var keys []string
	for k := range m { // want `a range over a map in workflow code`
		keys = append(keys, k)
	}
	first := keys[0]
	sort.Strings(keys)
	for k, v := range m { // want `a range over a map in workflow code`
		if v == "x" {
			first = k
			break
		}
	}
	for k := range m { // want `a range over a map in workflow code`
		first += k
	}
	for k := range maps.Keys(m) { // want `a range over maps.Keys in workflow code`
		first += k
	}
	byValue := map[string]string{}
	for k, v := range m { // want `a range over a map in workflow code`
		byValue[v] = k
	}
	n := 0
	for range m { // want `a range over a map in workflow code`
		if n++; n > 3 {
			break
		}
	}
	for _, v := range m { // want `a range over a map in workflow code`
		if v == "" {
			return "empty"
		}
		if v == "x" {
			return "x"
		}
	}
	for k := range m { // want `a range over a map in workflow code`
		return k
	}
	last := 0
	for k := range m { // want `a range over a map in workflow code`
		if k == "x" {
			last = 1
		}
		if k == "y" {
			last = 2
		}
	}
	n += last
	_ = slices.Collect(maps.Values(m))       // want `maps.Values in workflow code: the order of a map differs each time; use slices.Sorted, or sort what it gives at once`
	unsorted := slices.Collect(maps.Keys(m)) // want `maps.Keys in workflow code`
	_ = reflect.ValueOf(m).MapKeys()         // want `reflect.Value.MapKeys in workflow code`
	return first + unsorted[0]
}

func sum[M ~map[string]float64](r *flow.Run, m M) (total float64) {
	for _, v := range m { // want `a range over a map in workflow code`
		total += v
	}
	return total
}

func good(r *flow.Run, m map[string]string) (n int, found bool) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		_, _ = flow.Do[string](r, "x", k, nil)
	}
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var pairs []pair
	for k, v := range m {
		if v == "" {
			continue
		}
		p := pair{k, v}
		pairs = append(pairs, p)
	}
	n++
	sort.Slice(pairs, func(i, j int) bool { return pairs[i].k < pairs[j].k })
	longest := 0
	other := map[string]int{}
	for k, v := range m {
		other[k] = len(v)
		longest = max(longest, len(v))
		n += len(v)
	}
	for k := range m {
		if k == "" {
			delete(m, k)
		}
	}
	for _, v := range m {
		if v == "x" {
			found = true
			break
		}
	}
	for k := range maps.Keys(other) {
		n += len(k)
	}
	nested := map[string]map[string]int{}
	var all []string
	for _, k := range keys {
		for in := range nested[k] {
			all = append(all, in)
		}
	}
	slices.Sort(all)
	sorted := slices.Collect(maps.Keys(m))
	slices.Sort(sorted)
	if slices.ContainsFunc(slices.Collect(maps.Keys(m)), func(k string) bool { return k == "" }) {
		n++
	}
	for _, v := range m {
		if v == "y" {
			return 0, true
		}
	}
	return n, found
}
