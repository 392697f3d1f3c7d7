package process

import (
	"bytes"
	"context"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// A Held is a new text file that a command made under a name that programs outside the
// sandbox obey, or a text that it wrote where a rule has a person asked. It is not in the
// workspace: a person is asked about it first. The ledger has its content.
type Held struct {
	Path       string
	Digest     string
	Executable bool
	Kept       string // where a copy lies
	Rule       string // that asks, in words; empty where programs obey it
	Was        string // digest of what lies there, with a rule
}

// A Hold collects the files that were held back from the commands of one call. Without one, they
// are put aside and noted in the output.
type Hold struct {
	mu    sync.Mutex
	files map[string]Held
}

type holdKey struct{}

// WithHold returns a context in which commands that are waited for hold files back.
func WithHold(ctx context.Context) (context.Context, *Hold) {
	h := &Hold{}
	return context.WithValue(ctx, holdKey{}, h), h
}

// holdOf returns the hold of a context, or nil.
func holdOf(ctx context.Context) *Hold {
	h, _ := ctx.Value(holdKey{}).(*Hold)
	return h
}

// Files lists the held files, by path.
func (h *Hold) Files() []Held {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.files) == 0 {
		return nil
	}
	var out []Held
	for _, p := range slices.Sorted(maps.Keys(h.files)) {
		out = append(out, h.files[p])
	}
	return out
}

const (
	maxHeld      = 50        // files of one name that was put aside
	maxHeldBytes = 128 << 10 // of all of them: a person reads it
)

// take holds what was put aside of a name of the workspace, to with all that is in it,
// and reports whether it did: all of it, or nothing. rule is the rule that asks about it, if any.
func (h *Hold) take(led *ledger.Ledger, names *rootfs.Classifier, rel, to, rule string) bool {
	if h == nil || led == nil || led.Full() {
		return false
	}
	up, err := unix.Open(filepath.Dir(to), rootfs.PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(up)
	left := int64(maxHeldBytes)
	n, err := readNode(up, filepath.Base(to), &left)
	if err != nil {
		return false
	}
	files := map[string]*node{}
	if !texts(n, names, rel, rule != "", files) || len(files) == 0 || len(files) > maxHeld {
		return false
	}
	for _, f := range files {
		if led.Hold(f.Data) != nil {
			return false
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files == nil {
		h.files = map[string]Held{}
	}
	for p, f := range files {
		h.files[p] = Held{Rule: rule, Path: p, Digest: rootfs.Digest(f.Data), Executable: f.Mode&0o100 != 0, Kept: filepath.Join(to, filepath.FromSlash(strings.TrimPrefix(p, rel)))}
	}
	return true
}

// replaces notes the digest of what lies where a held file is to be.
func (h *Hold) replaces(rel, digest string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.files[rel]
	f.Was = digest
	h.files[rel] = f
}

// texts lists the files of a node, and reports whether all are texts that programs obey, or
// with a rule that asks that none is, and that hide nothing from their readers.
func texts(n *node, names *rootfs.Classifier, rel string, ruled bool, files map[string]*node) bool {
	switch n.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		files[rel] = n
		fits := names.Class(rel) == 0
		if !ruled {
			what, _, _ := rootfs.Obeyed(rel)
			fits = what != "" && names.Class(rel) == rootfs.ConfigName
		}
		return fits && utf8.Valid(n.Data) && !bytes.ContainsRune(n.Data, 0)
	case unix.S_IFDIR:
		for name, c := range n.Children {
			if !texts(c, names, path.Join(rel, name), ruled, files) {
				return false
			}
		}
		return true
	}
	return false
}
