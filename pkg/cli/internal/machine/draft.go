package machine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/guard/trust"
)

// A File is a file to write, by its name below a root: no link leads out of that.
type File struct{ Name, Text string }

// most bounds a file that a draft is compared with, in bytes.
const draftMost = 1 << 20

// Read reads a file that is there.
func Read(root *os.Root, name string) ([]byte, error) {
	f, err := rootfs.OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, draftMost))
}

// Create writes a file that is not there. The error is fs.ErrExist if it is.
func Create(root *os.Root, d File) error {
	if err := root.MkdirAll(path.Dir(d.Name), 0o755); err != nil {
		return err
	}
	return rootfs.CreateIn(root, d.Name, 0o644, []byte(d.Text))
}

// Replace writes a file in place of one that is still as it was seen.
func Replace(root *os.Root, d File, seen []byte) error {
	if now, err := Read(root, d.Name); err != nil || !bytes.Equal(now, seen) {
		return fmt.Errorf("%s has changed meanwhile, and is kept", d.Name)
	}
	return rootfs.ReplaceIn(root, d.Name, 0o644, []byte(d.Text))
}

// Trust trusts files that were written, with the content they were written with.
func Trust(ctx context.Context, c adroit.Client, dir string, written ...File) error {
	st, err := c.Trust(ctx, dir)
	if err != nil {
		return err
	}
	below, err := filepath.Rel(st.Root, st.Dir)
	if err != nil {
		return err
	}
	var files []trust.File
	for _, d := range written {
		sum := sha256.Sum256([]byte(d.Text))
		for _, f := range st.Files {
			if f.Path == path.Join(filepath.ToSlash(below), d.Name) && f.Hash == hex.EncodeToString(sum[:]) {
				files = append(files, f)
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	_, err = c.SetTrust(ctx, adroit.TrustChange{Dir: dir, Files: files, Trust: true})
	return err
}
