package jobdir

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
)

// imageDir is the directory of a job with the images of its messages, each under its
// digest.
func imageDir(data, id string) string { return filepath.Join(data, "jobs", id, "images") }

// KeepImage keeps an image of a job's messages, durably.
func KeepImage(data, id string, i *llm.Image) error {
	file := filepath.Join(imageDir(data, id), i.Digest)
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	return rootfs.WriteFile(file, i.Data)
}

// ReadImage reads an image that was kept.
func ReadImage(data, id, digest string) ([]byte, error) {
	if b, err := hex.DecodeString(digest); err != nil || len(b) != 32 {
		return nil, fs.ErrNotExist
	}
	return os.ReadFile(filepath.Join(imageDir(data, id), digest))
}

// CopyImages gives a job the images of another.
func CopyImages(data, from, to string) error {
	list, err := os.ReadDir(imageDir(data, from))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for _, f := range list {
		i := llm.Image{Digest: f.Name()}
		if i.Data, err = ReadImage(data, from, i.Digest); errors.Is(err, fs.ErrNotExist) {
			continue // what a killed process left behind
		} else if err != nil {
			return err
		}
		if err := KeepImage(data, to, &i); err != nil {
			return err
		}
	}
	return nil
}

// KeepImages keeps the images of a message in the directory of its job, and takes
// their bytes out of the message.
func KeepImages(data, id string, list []executor.Attachment) error {
	for k := range list {
		at := &list[k]
		if at.Image == nil {
			continue
		}
		if err := KeepImage(data, id, at.Image); err != nil {
			return fmt.Errorf("keeping the image %s: %w", at.Image.Name, err)
		}
		at.Data = nil
	}
	return nil
}
