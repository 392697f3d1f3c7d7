package workspace

// Content returns what the ledger kept by its digest, the Before of a
// [Change]. It is an error if it was too much to keep.
func (l *Ledger) Content(digest string) ([]byte, error) { return l.load(digest) }
