package workspace

import "os"

// A goneError is a workspace that is not what it was when the job began with
// it: deleted, replaced or not reachable any more.
type goneError struct {
	Dir string
	Err error // nil if there is something else in its place
}

func (e *goneError) Error() string {
	if e.Err == nil {
		return "the workspace " + e.Dir + " has been replaced by another directory or file while the job worked in it"
	}
	return "the workspace " + e.Dir + " is gone: " + e.Err.Error()
}

func (e *goneError) Unwrap() error { return e.Err }

// Present is an error if the directory is not there any more.
func (f *Files) Present() error {
	ours, err := f.Tree.Self.Stat()
	if err != nil {
		return &goneError{Dir: f.Dir(), Err: err}
	}
	now, err := os.Lstat(f.Dir())
	if err != nil {
		return &goneError{Dir: f.Dir(), Err: err}
	}
	if !os.SameFile(ours, now) {
		return &goneError{Dir: f.Dir()}
	}
	return nil
}
