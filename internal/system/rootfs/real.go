package rootfs

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// Real is the absolute path of a directory without links, as far as it exists.
func Real(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for rest := ""; ; {
		if p, err := filepath.EvalSymlinks(abs); err == nil {
			return filepath.Join(p, rest), nil
		} else if up := filepath.Dir(abs); up == abs || !errors.Is(err, fs.ErrNotExist) {
			return "", err
		} else {
			abs, rest = up, filepath.Join(filepath.Base(abs), rest)
		}
	}
}
