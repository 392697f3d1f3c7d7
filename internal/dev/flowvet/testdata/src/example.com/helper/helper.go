// Package helper is called by workflow code of another package.
package helper

import (
	"sync"
	"time"
)

var (
	Limit  = 3 // want Limit:"written"
	Names  = []string{"a"}
	mu     sync.Mutex
	Began  = time.Now() // want Began:"time.Now"
	cached = map[string]string{}
)

func Stamp() string { return stamp() } // want Stamp:"time.Now"

func stamp() string { return time.Now().String() }

type T struct{}

func (T) Nap() { time.Sleep(1) } // want Nap:"time.Sleep"

// Cached is the same each time.
func Cached(k string) string {
	mu.Lock()
	defer mu.Unlock()
	cached[k] = k
	return cached[k]
}

func Any(m map[string]int) string { // want Any:"a range over a map"
	for k := range m {
		return k
	}
	return ""
}

func Excused() time.Time {
	return time.Now() //flowvet:ignore the day the program was built
}

func Raise() { Limit++ }
