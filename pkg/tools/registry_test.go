package tools

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestRegistryChanges(t *testing.T) {
	var r Registry
	var got []string
	cancel := r.Subscribe(func(c Change) {
		got = append(got, fmt.Sprintf("+%v -%v =%v", c.Added, c.Removed, c.Set.Names()))
		// A listener may use the registry; its own change is delivered afterwards.
		if _, ok := r.Snapshot().Lookup("echo"); ok && len(c.Added) == 2 {
			if err := r.Register(named("inner")...); err != nil {
				t.Error(err)
			}
			if len(got) != 1 {
				t.Error("the inner change is delivered in the middle of the outer one")
			}
		}
	})
	before := r.Snapshot()
	if err := r.Register(named("echo", "ant")...); err != nil {
		t.Fatal(err)
	}
	if err := r.Register(named("fresh", "echo")...); err == nil || !strings.Contains(err.Error(), `"echo" is registered twice`) {
		t.Errorf("duplicate: %v", err)
	}
	if err := r.Unregister("ehco"); err == nil || !strings.Contains(err.Error(), `did you mean "echo"`) {
		t.Errorf("unknown: %v", err)
	}
	if err := r.Replace([]string{"ant"}, named("ant")...); err != nil {
		t.Fatal(err)
	}
	if err := r.Replace(nil); err != nil {
		t.Fatal(err)
	}
	cancel()
	cancel()
	if err := r.Unregister("ant", "echo"); err != nil {
		t.Fatal(err)
	}
	want := []string{"+[ant echo] -[] =[ant echo]", "+[inner] -[] =[ant echo inner]", "+[ant] -[ant] =[ant echo inner]"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if before.Len() != 0 || !slices.Equal(r.Snapshot().Names(), []string{"inner"}) {
		t.Error("a snapshot changed, or the last change is lost")
	}
}

// Many change the registry at once; each listener sees every change, in one
// order, whose last is what the registry holds.
func TestRegistryConcurrently(t *testing.T) {
	var r Registry
	var mu sync.Mutex
	seen := [2][]string{}
	for i := range seen {
		have := map[string]bool{}
		defer r.Subscribe(func(c Change) {
			mu.Lock()
			defer mu.Unlock()
			for _, n := range c.Removed {
				if !have[n] {
					t.Errorf("%s is removed before it is added", n)
				}
				delete(have, n)
			}
			for _, n := range c.Added {
				have[n] = true
			}
			if c.Set.Len() != len(have) {
				t.Errorf("the change's set has %d tools, want %d", c.Set.Len(), len(have))
			}
			seen[i] = append(seen[i], fmt.Sprint(c.Added, c.Removed))
		})()
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			name := fmt.Sprintf("tool_%d", g)
			for range 20 {
				if err := r.Register(named(name)...); err != nil {
					t.Error(err)
				}
				r.Snapshot().Describe(nil)
				r.Snapshot().Specs()
				if err := r.Unregister(name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	// Whoever was delivering has returned, so all is delivered.
	if len(seen[0]) != 320 || !slices.Equal(seen[0], seen[1]) || r.Snapshot().Len() != 0 {
		t.Errorf("listeners saw %d and %d changes of 320", len(seen[0]), len(seen[1]))
	}
}
