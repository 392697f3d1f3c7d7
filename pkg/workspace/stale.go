package workspace

import "github.com/adroit-run/adroit/internal/system/rootfs"

// Note remembers what the job saw.
func (f *Files) Note(p, digest string) error {
	if f.Ledger != nil {
		return f.Ledger.Seen(p, digest)
	}
	f.sees.Lock()
	defer f.sees.Unlock()
	f.seen[p] = digest
	return nil
}

// Seen reports whether this job has read or written the file, so that the stale
// check protects it.
func (f *Files) Seen(name string) bool {
	p, err := f.find(name, true, false)
	if err != nil {
		return false
	}
	_, ok := f.saw(p)
	return ok
}

func (f *Files) saw(p string) (string, bool) {
	if f.Ledger != nil {
		return f.Ledger.LastSeen(p)
	}
	f.sees.Lock()
	defer f.sees.Unlock()
	d, ok := f.seen[p]
	return d, ok
}

// fresh refuses a change to a file that is not as the job last saw it. One the
// job never saw is let through.
func (f *Files) fresh(name, p string, now rootfs.State) error {
	want, ok := f.saw(p)
	switch {
	case !ok || want == now.Digest:
		return nil
	case now.Type == "":
		return &rootfs.StaleError{Name: name, Reason: "has been deleted since it was read"}
	case want == "":
		return &rootfs.StaleError{Name: name, Reason: "has been created anew since it was deleted"}
	}
	return &rootfs.StaleError{Name: name, Reason: "has been changed since it was read, by someone else or by a command"}
}

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
