package ledger

import (
	"bytes"
	"io/fs"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// errSkip carries the reason why a path is left alone.
type errSkip string

func (e errSkip) Error() string { return string(e) }

// A version is a state with its content, as far as that has been read.
type version struct {
	rootfs.State
	data []byte // nil: in the ledger, by its digest
}

// equal reports whether two versions have the same content, whatever their modes.
func (v version) equal(o version) bool { return v.Type == o.Type && v.Digest == o.Digest }

// without takes the part's changes out of now and leaves everybody else's: each
// span, the newest first, by a three-way merge. The first version is what is
// left of all, the others are without the spans from theirs on. It is an errSkip
// if the changes cannot be separated.
func (l *Ledger) without(n *net, now version) ([]version, error) {
	vs := make([]version, len(n.spans))
	for i := len(n.spans) - 1; i >= 0; i-- {
		s := n.spans[i]
		var err error
		if now, err = l.merge3(version{State: s.to}, now, version{State: s.from}); err != nil {
			return nil, err
		}
		vs[i] = now
	}
	return vs, nil
}

// errTangled reports that the changes of two sides cannot be separated.
const errTangled = errSkip("somebody else changed the same lines in between; undo single steps of it, or edit it by hand")

// merge3 applies what led from base to theirs to ours.
func (l *Ledger) merge3(base, ours, theirs version) (version, error) {
	out := ours
	switch {
	case ours.equal(base):
		out = theirs
	case theirs.equal(base), ours.equal(theirs):
	default:
		data, err := l.mergeContent(base, ours, theirs)
		if err != nil {
			return version{}, err
		}
		out.State.Digest, out.State.Size, out.data = rootfs.Digest(data), int64(len(data)), data
	}
	if out.Type == rootfs.TypeFile || out.Type == rootfs.TypeDir {
		out.Mode = mergeMode(base, ours, theirs)
	}
	return out, nil
}

// mergeMode prefers the side that changed the mode, and ours if both did.
func mergeMode(base, ours, theirs version) fs.FileMode {
	switch {
	case ours.Type == "":
		return theirs.Mode
	case theirs.Type == "" || ours.Mode != base.Mode && base.Type != "":
		return ours.Mode
	}
	return theirs.Mode
}

// mergeContent merges texts line by line. What one side removed and what the
// other side put at the same place do not conflict, two different new texts for
// the same lines do.
func (l *Ledger) mergeContent(base, ours, theirs version) ([]byte, error) {
	var text [3]string
	for i, v := range []version{base, ours, theirs} {
		if v.Type != rootfs.TypeFile || v.Size > MaxDiff {
			return nil, errSkip("somebody else changed it in between")
		}
		data := v.data
		if data == nil && v.Size > 0 {
			var err error
			if data, err = l.Load(v.Digest); err != nil {
				return nil, errSkip("somebody else changed it in between, and what it was like then is not known any more")
			}
		}
		if bytes.IndexByte(data, 0) >= 0 {
			return nil, errSkip("somebody else changed it in between, and it is not text")
		}
		text[i] = string(data)
	}
	edits, clean := udiff.Merge(udiff.Lines(text[0], text[1]), udiff.Lines(text[0], text[2]))
	if !clean {
		return nil, errTangled
	}
	for i, e := range edits { // a last line without its end would run into what follows it
		if i < len(edits)-1 && e.New != "" && !strings.HasSuffix(e.New, "\n") {
			return nil, errTangled
		}
	}
	merged, err := udiff.Apply(text[0], edits)
	if err != nil {
		return nil, errTangled
	}
	return []byte(merged), nil
}
