package cli

import (
	"os"
	"runtime"
	"runtime/debug"
)

// collectLater puts off the first garbage collection until the heap has 16 MB instead
// of 4. Most commands end before: with 4 they would collect three times, and find
// that nearly everything is still in use. After the first collection all is as usual.
func collectLater() {
	if os.Getenv("GOGC") != "" {
		return
	}
	type sentinel struct{ _ [4]*int } // an object of its own, unlike tiny ones
	runtime.AddCleanup(new(sentinel), func(percent int) { debug.SetGCPercent(percent) }, debug.SetGCPercent(400))
}
