package workspace

import (
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// ReadLines returns n lines from the given one, counted from 1, and fewer if
// they are long. However large the file, it takes little memory and bounded
// time. A file of up to MaxFile bytes is remembered for the stale check.
func (f *Files) ReadLines(name string, from, n int) (rootfs.Page, error) {
	p, err := f.find(name, true, false)
	if err != nil {
		return rootfs.Page{}, err
	}
	in, info, err := f.Tree.Open(name, p)
	if err != nil {
		return rootfs.Page{}, err
	}
	defer in.Close()
	if info.Size() <= rootfs.PageText {
		b, err := f.Load(name, p)
		if err != nil {
			return rootfs.Page{}, err
		}
		if err := f.Note(p, rootfs.Digest(b)); err != nil {
			return rootfs.Page{}, err
		}
		return rootfs.PageOf(b, from, n)
	}
	page, err := rootfs.ReadPage(in, from, n, func(sum string, whole bool) error {
		if !whole || info.Size() > MaxFile {
			return nil
		}
		return f.Note(p, sum)
	})
	page.Size = info.Size()
	if err != nil {
		return rootfs.Page{}, f.Tree.ExplainAs(name, err)
	}
	return page, nil
}

// ReadText reads a text file and remembers it for the stale check. A binary
// file, or one whose bytes could not be restored, is an *EncodingError.
func (f *Files) ReadText(name string) (rootfs.Text, error) {
	b, err := f.ReadFile(name)
	if err != nil {
		return rootfs.Text{}, err
	}
	t, reason := rootfs.Decode(b)
	if reason != "" {
		return rootfs.Text{}, &rootfs.EncodingError{Name: name, Reason: reason}
	}
	return t, nil
}

// WriteText writes a Text back. Lines that were not edited keep their bytes. A
// Text that was not read, such as Text{Content: s}, is written as UTF-8.
func (f *Files) WriteText(name string, t rootfs.Text) error {
	b, reason := t.Encode()
	if reason != "" {
		return &rootfs.EncodingError{Name: name, Reason: reason}
	}
	return f.WriteFile(name, b)
}
