package problem

import (
	"slices"
	"sync"
)

var registered struct {
	sync.Mutex
	types []string
}

// Register makes types known that users have added, so that files may name them. What
// a job decides by does not depend on it: a job has its types by value.
func Register(types ...string) {
	registered.Lock()
	defer registered.Unlock()
	for _, t := range types {
		if !slices.Contains(registered.types, t) {
			registered.types = append(registered.types, t)
		}
	}
}

// Known are the types that files may name: those built in, and those that were
// registered.
func Known() []string {
	registered.Lock()
	defer registered.Unlock()
	return slices.Concat(Types, registered.types)
}
