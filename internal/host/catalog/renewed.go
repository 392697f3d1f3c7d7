package catalog

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/pkg/agents"
)

// renewed returns what load makes of layers of files, which it loads again when one of
// the files has changed: a server lives longer than what its user writes.
func renewed[T any](layers []agents.Layer, load func(...agents.Layer) T) func() T {
	var mu sync.Mutex
	var value T
	var loaded string
	return func() T {
		mu.Lock()
		defer mu.Unlock()
		var now strings.Builder
		for i, l := range layers {
			fmt.Fprintf(&now, "layer %d\n", i)
			if l.FS != nil {
				stamp(&now, l.FS)
			}
		}
		if now.String() != loaded {
			value = load(layers...)
			loaded = now.String()
		}
		return value
	}
}

// stamp writes what shows that a file has changed. What cannot be read has none, and
// loading reports it.
func stamp(w *strings.Builder, files fs.FS) {
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && !d.IsDir() {
			fmt.Fprintf(w, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
}
