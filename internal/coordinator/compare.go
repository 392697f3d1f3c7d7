package coordinator

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
)

// What a Policy may say of the memory, beside Off.
const (
	OfProject = "project"
	OfUser    = "user"
)

// A Policy is what the configuration says of coordinators.
type Policy struct {
	Memory  string              // OfProject (the default), OfUser, Off
	Compare map[string][]string // the sides of each comparison, by what is compared
}

// sides are what can be compared, with the sides there are.
var sides = map[string][]string{"memory": {On, Off}}

// Check reports what cannot be meant.
func (p Policy) Check() error {
	if !slices.Contains([]string{"", OfProject, OfUser, Off}, p.Memory) {
		return fmt.Errorf("memory is %q; it is project, user or off", p.Memory)
	}
	for _, what := range slices.Sorted(maps.Keys(p.Compare)) {
		known, ok := sides[what]
		if !ok {
			return fmt.Errorf("compare: %q cannot be compared; %v can", what, slices.Sorted(maps.Keys(sides)))
		}
		list := p.Compare[what]
		if len(list) < 2 {
			return fmt.Errorf("compare.%s has %d sides; a comparison has two or more of %v", what, len(list), known)
		}
		for i, s := range list {
			if !slices.Contains(known, s) || slices.Contains(list[:i], s) {
				return fmt.Errorf("compare.%s has the side %q; they are different ones of %v", what, s, known)
			}
		}
		if what == "memory" && p.Memory == Off {
			return fmt.Errorf("compare.memory compares nothing, for memory is off")
		}
	}
	return nil
}

// assign is the side of a job: the same whenever it is asked, and as likely as each
// other one.
func assign(job, what string, sides []string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(what + "\x00" + job)) // never fails
	n := h.Sum64()
	n ^= n >> 32 // ids of one moment differ in their last letters only
	n *= 0x9e3779b97f4a7c15
	return sides[(n>>32)%uint64(len(sides))]
}

// Setup is how a job's coordinators work. What was chosen for the job is part of no
// comparison.
func (p Policy) Setup(job string, c Choice) Setup {
	s := Setup{Everywhere: p.Memory == OfUser, Remember: p.Memory != Off}
	s.Recall = s.Remember
	switch {
	case c.Memory != "":
		s.Recall = c.Memory == On
		s.Remember = s.Recall
	case len(p.Compare["memory"]) > 0 && s.Remember:
		side := assign(job, "memory", p.Compare["memory"])
		s.Arms = map[string]string{"memory": side}
		s.Recall = side == On // both sides remember: what they know is the same
	}
	return s
}
