package rootfs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// MinToken is how long a token is at least, in bytes.
const MinToken = 16

// TokenName is the name of the file that TokenPath is.
const TokenName = "adroit.token"

// TokenPath is the file with the token of a data directory: who sends the token to a
// server of that directory may do all that its user can.
func TokenPath(dir string) string { return filepath.Join(dir, TokenName) }

// Token returns the token of a data directory. If there is none, the error is
// fs.ErrNotExist.
func Token(dir string) (string, error) {
	b, err := private(TokenPath(dir), "its token is")
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(b))
	if len(token) < MinToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s holds no token: remove the file, and the server makes another", TokenPath(dir))
	}
	return token, nil
}

// MakeToken returns the token of a data directory, and makes one that nobody can
// guess if there is none. Of several processes that do, all return the same.
func MakeToken(dir string) (string, error) {
	token, err := Token(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err = MkdirAll(dir); err == nil {
		err = CreateFile(TokenPath(dir), 0o600, []byte(rand.Text()+"\n"))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("keeping a token: %w", err)
	}
	return Token(dir)
}
