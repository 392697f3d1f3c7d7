package workspace

import "github.com/adroit-run/adroit/internal/rootfs"

// Fresh is a *StaleError if the file is not as this job last saw it, and nil if
// it is or was never seen. It is for a tool that is about to read the file
// again in order to change it: reading makes the new content the one that was
// seen, though nobody was shown it.
func (f *Files) Fresh(name string) error {
	p, err := f.find(name, true, true)
	if err != nil {
		return err
	}
	b, err := f.Load(name, p)
	if err != nil {
		return err
	}
	return f.fresh(name, p, rootfs.State{Type: rootfs.TypeFile, Digest: rootfs.Digest(b)})
}
