package workspace

import "github.com/adroit-run/adroit/internal/system/rootfs"

// What tools and programs need of the directory below all of it.
type (
	// A DenyList has an operator's changes to the names that nobody may use.
	DenyList = rootfs.DenyList
	// A PathError refuses a name.
	PathError = rootfs.PathError
	// A StaleError is a file that is not as the job last saw it.
	StaleError = rootfs.StaleError
	// A TooLargeError is a file over the bound for being taken whole.
	TooLargeError = rootfs.TooLargeError
)
