package rootfs

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/adroit-run/adroit/internal/system/lock"
)

// Reasons not to keep a key.
var (
	ErrInRepository = errors.New("keys are not kept inside a git repository")
	ErrNoDirectory  = errors.New("there is no home directory to keep keys in")
)

// maxSize bounds the bytes that are read.
const maxSize = 1 << 20

// A File keeps keys by the name of their provider. It is safe for concurrent use,
// also by several processes.
type File struct{ dir string }

// In returns the file of a directory, "" for one without keys. Nothing is made
// before a key is set.
func In(dir string) File { return File{dir} }

// Path returns the path of the file.
func (f File) Path() string { return filepath.Join(f.dir, "credentials.json") }

// Keys returns the keys, or none if there is no file. A file that is a link, belongs to another
// user or can be read by others is an error.
func (f File) Keys() (map[string]string, error) {
	if f.dir == "" {
		return nil, nil
	}
	b, err := ReadPrivate(f.Path(), "its keys are")
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return map[string]string{}, nil
	case errors.As(err, new(*fs.PathError)):
		return nil, fmt.Errorf("reading keys: %w", err)
	case err != nil:
		return nil, err
	}
	keys := map[string]string{}
	if json.Unmarshal(b, &keys) != nil { // the error could quote a key
		return nil, fmt.Errorf("%s is not a JSON object of provider and key: its keys are not used", f.Path())
	}
	return keys, nil
}

// Set keeps the key of a provider.
func (f File) Set(name, key string) error {
	return f.change(func(keys map[string]string) bool {
		keys[name] = key
		return true
	})
}

// Remove forgets the key of a provider, and reports whether there was one.
func (f File) Remove(name string) (was bool, err error) {
	if _, err := os.Lstat(f.Path()); f.dir == "" || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = f.change(func(keys map[string]string) bool {
		_, was = keys[name]
		delete(keys, name)
		return was
	})
	return was, err
}

// change rewrites the file while no other process does. A kill leaves the file
// that was there or the new one.
func (f File) change(do func(map[string]string) bool) error {
	if f.dir == "" {
		return ErrNoDirectory
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return fmt.Errorf("keeping keys: %w", err)
	}
	if err := f.outsideRepository(); err != nil {
		return err
	}
	unlock, err := lock.Open(f.Path() + ".lock")
	if err != nil {
		return fmt.Errorf("keeping keys: %w", err)
	}
	defer unlock()
	keys, err := f.Keys()
	if err != nil {
		return err
	}
	if !do(keys) {
		return nil
	}
	if err := WriteJSON(f.Path(), keys); err != nil {
		return fmt.Errorf("keeping keys: %w", err)
	}
	return nil
}

// outsideRepository reports a directory that is, links followed, in the work tree
// of a repository: a key there is one git add from everybody.
func (f File) outsideRepository() error {
	dir, err := filepath.EvalSymlinks(f.dir)
	if err != nil {
		return fmt.Errorf("keeping keys: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if top, ok := Repository(dir); ok {
		return fmt.Errorf("%w: %s is in that of %s", ErrInRepository, f.Path(), top)
	}
	return nil
}

// ReadPrivate reads a file that only this user can read. For any other file the error states that its
// content, as in "its keys are", is not used.
func ReadPrivate(name, its string) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, syscall.ELOOP):
		return nil, fmt.Errorf("%s is a link: %s not used", name, its)
	case err != nil:
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	sys, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular(), ok && int(sys.Uid) != os.Geteuid():
		return nil, fmt.Errorf("%s is not a file of this user: %s not used", name, its)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("others can read %s: %s not used until you run chmod 600 on it", name, its)
	}
	return io.ReadAll(io.LimitReader(file, maxSize))
}

// MinToken is the minimum length of a token, in bytes.
const MinToken = 16

// TokenName is the name of the file that TokenPath is.
const TokenName = "adroit.token"

// TokenPath returns the file with the token of a data directory: whoever sends the token to a
// server of that directory may do all that its user can.
func TokenPath(dir string) string { return filepath.Join(dir, TokenName) }

// TokensName is the name of the file in a data directory with the tokens that its owner has given
// to others, as hashes.
const TokensName = "adroit.tokens"

// Token returns the token of a data directory. If there is none, the error is
// fs.ErrNotExist.
func Token(dir string) (string, error) {
	b, err := ReadPrivate(TokenPath(dir), "its token is")
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

// WorktreePath returns the current path of a path that was recorded for the worktree of a job or
// of one of its sub-agents. These are in data/worktrees, by the ID of their job; the records in a
// data directory that was moved, or restored elsewhere, still have its old path.
func WorktreePath(data, id, path string) string {
	const list = string(filepath.Separator) + "worktrees" + string(filepath.Separator)
	was, below, ok := strings.Cut(path, list+id)
	if !ok || id == "" || data == "" || was == filepath.Clean(data) || below != "" && below[0] != filepath.Separator && below[0] != '-' {
		return path
	}
	a, err := os.Stat(was)
	if b, now := os.Stat(data); err == nil && now == nil && os.SameFile(a, b) { // by a link
		return path
	}
	return filepath.Join(data, "worktrees", id+below)
}
