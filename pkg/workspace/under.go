package workspace

import "path"

// A Barrier says why a file may not be used, "" if it may. name is relative to
// the root, with links followed. It is called often and from several
// goroutines.
type Barrier func(name string, write bool) (why string)

// Under returns the same files with a barrier of the caller's on top of the
// names that nobody may use. It holds for everything that is done through the
// files it returns: reading, listing, searching, writing, moving.
func (f *Files) Under(b Barrier) *Files {
	return &Files{desk: f.desk, led: f.led, barrier: b, names: f.names}
}

// Naming returns the same files with the operator's changes to the list of names
// that nobody may use.
func (f *Files) Naming(n *Names) *Files {
	return &Files{desk: f.desk, led: f.led, barrier: f.barrier, names: n}
}

// Asks reports whether a file of this name, relative to the root, is to be written
// only when a person has agreed: it says what runs later without a question, as
// the settings of continuous integration do. Commands cannot write it at all.
func (f *Files) Asks(name string) bool { return asks(path.Clean(name)) }

// Naming makes diffs of l leave out what those names hide. It is called before l
// is used.
func (l *Ledger) Naming(n *Names) { l.names = n }

// Real is the name that a file has within the root once links are followed,
// for decisions about it. It fails for names that can not be used at all, but
// does not ask whether the file exists.
func (f *Files) Real(name string) (string, error) {
	p, err := f.tree.clean(name)
	if err != nil {
		return "", err
	}
	return f.tree.resolve(name, p, true)
}

// judge returns an error if p, a clean name, must not be used: nobody may, or
// the barrier says so.
func (f *Files) judge(name, p string, write bool) error {
	if err := f.names.deny(name, p, write); err != nil || f.barrier == nil {
		return err
	}
	if why := f.barrier(p, write); why != "" {
		return &PathError{Name: name, Reason: why}
	}
	return nil
}
