package ledger

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // as git names content
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"strings"
	"unicode/utf8"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// Diff returns a unified diff, in git's format, of this job's changes: from the content that the
// files would have without it to their current content. Changes by others in the same files are
// not in it, nor are unchanged paths; binary and very large files are only named. Uncertain
// changes are left out: see [Selection.IncludeUncertain].
func (l *Ledger) Diff(ctx context.Context, root string) (string, error) {
	return l.All().Diff(ctx, root)
}

// Diff is like [Ledger.Diff]. For a part of the changes it shows what the steps left, even where
// the files have been changed since.
func (p Selection) Diff(ctx context.Context, root string) (string, error) {
	if err := p.l.peek(ctx); err != nil {
		return "", err
	}
	t, err := rootfs.Open(root)
	if err != nil {
		return "", err
	}
	defer t.Close()
	d := differ{Selection: p, tree: t}
	if p.patch {
		d.prefix, d.id = patchForm(ctx, t)
	}
	var out strings.Builder
	for _, c := range p.l.shifts(p.nets()) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		out.WriteString(d.diffOne(c))
	}
	return out.String(), nil
}

// A differ writes one diff.
type differ struct {
	Selection
	tree   *rootfs.Tree
	prefix string           // of names
	id     func() hash.Hash // of content in a repository; nil: binaries are named only
}

// patchForm returns how git apply wants names and ids in a directory. Where git refuses the
// repository it applies nothing either: names are from the directory, and no binary is whole.
func patchForm(ctx context.Context, t *rootfs.Tree) (prefix string, id func() hash.Hash) {
	if _, _, ok := t.Repository(); !ok {
		return "", sha1.New
	}
	out, err := t.Git(ctx, nil, "rev-parse", "--show-object-format", "--show-prefix")
	if err != nil {
		return "", nil
	}
	format, prefix, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	if format == "sha256" {
		return prefix, sha256.New
	}
	return prefix, sha1.New
}

// names returns the two names of a change, in git's notation.
func (d *differ) names(source, p string) (from, to string) {
	return quoteName("a/" + d.prefix + source), quoteName("b/" + d.prefix + p)
}

// named returns the part of a file that is named only. In a patch all of it is a comment: git apply
// takes none of a patch that has a part without a change.
func (d *differ) named(from, to, why string) string {
	mark := ""
	if d.patch {
		mark = "# "
	}
	return fmt.Sprintf("%sdiff --git %s %s\n# %s\n", mark, from, to, why)
}

// side is one half of a comparison.
type side struct {
	rootfs.State
	data  []byte
	large bool // the content was not kept, or is not compared
}

// there reports whether git knows the side: it has no directories.
func (s side) there() bool { return s.Type == rootfs.TypeFile || s.Type == rootfs.TypeLink }

func (s side) mode() string {
	switch {
	case s.Type == rootfs.TypeLink:
		return "120000"
	case s.Mode&0o100 != 0:
		return "100755"
	}
	return "100644"
}

func (d *differ) diffOne(c shift) string {
	source := c.Path
	if c.Kind == Renamed {
		source = c.Change.From
	}
	from, to := d.names(source, c.Path)
	if d.l.DenyList.Check(source, source, false) != nil || d.l.DenyList.Check(c.Path, c.Path, false) != nil {
		return d.named(from, to, "not shown: on the list of secrets and repository internals")
	}
	pairs, err := d.sides(c)
	if err != nil {
		return d.named(from, to, "not compared: "+rootfs.Visible(err.Error()))
	}
	var out strings.Builder
	for i, pair := range pairs {
		one := d.compare(source, c.Path, pair[0], pair[1])
		if one != "" && c.Uncertain {
			fmt.Fprintf(&out, "# uncertain: %s\n", uncertainReason(c.Change.Step))
		}
		if one != "" && len(pairs) > 1 {
			fmt.Fprintf(&out, "# part %d of %d: somebody else changed the same lines in between\n", i+1, len(pairs))
		}
		out.WriteString(one)
	}
	return out.String()
}

// compare returns the diff of two sides, "" if they are equal. Git has no change of a file to a
// link: it is shown as one removed and one made.
func (d *differ) compare(source, p string, old, now side) string {
	if old.there() && now.there() && old.Type != now.Type {
		return d.unified(source, source, old, side{}) + d.unified(p, p, side{}, now)
	}
	return d.unified(source, p, old, now)
}

func (d *differ) unified(source, p string, old, now side) string {
	if source == p && old.Equal(now.State) || !old.there() && !now.there() {
		return ""
	}
	var out strings.Builder
	from, to := d.names(source, p)
	if old.Digest != now.Digest && (old.large || now.large) {
		if max(old.Size, now.Size) <= d.most() {
			return d.named(from, to, "not compared: what was there before was not kept")
		}
		return d.named(from, to, fmt.Sprintf("%d bytes before, %d bytes now: too large to compare", old.Size, now.Size))
	}
	fmt.Fprintf(&out, "diff --git %s %s\n", from, to)
	switch {
	case !old.there():
		fmt.Fprintf(&out, "new file mode %s\n", now.mode())
		from, old = "/dev/null", side{}
	case !now.there():
		fmt.Fprintf(&out, "deleted file mode %s\n", old.mode())
		to, now = "/dev/null", side{}
	case source == p && old.Digest == now.Digest && old.mode() == now.mode():
		return fmt.Sprintf("# %s: mode %o before, %o now: git keeps no such modes\n", quoteName(d.prefix+p), old.Mode, now.Mode)
	default:
		if old.mode() != now.mode() {
			fmt.Fprintf(&out, "old mode %s\nnew mode %s\n", old.mode(), now.mode())
		}
		if source != p {
			fmt.Fprintf(&out, "rename from %s\nrename to %s\n", quoteName(d.prefix+source), quoteName(d.prefix+p))
		}
	}
	switch {
	case old.Digest == now.Digest:
	case max(len(old.data), len(now.data)) <= MaxDiff && rootfs.IsText(old.data) && rootfs.IsText(now.data):
		out.WriteString(udiff.Unified(from, to, string(old.data), string(now.data)))
	case d.id == nil:
		fmt.Fprintf(&out, "Binary files %s and %s differ\n", from, to)
	default:
		writeBinary(&out, d.id, old, now)
	}
	return out.String()
}

// writeBinary writes the change of a binary file as git does: both contents, each
// compressed and in digits of base 85, with their ids in full.
func writeBinary(out *strings.Builder, id func() hash.Hash, old, now side) {
	name := func(s side) string {
		h := id()
		if !s.there() {
			return strings.Repeat("0", 2*h.Size())
		}
		fmt.Fprintf(h, "blob %d\x00", len(s.data))
		h.Write(s.data)
		return fmt.Sprintf("%x", h.Sum(nil))
	}
	fmt.Fprintf(out, "index %s..%s", name(old), name(now))
	if old.there() && now.there() && old.mode() == now.mode() {
		out.WriteString(" " + now.mode())
	}
	out.WriteString("\nGIT binary patch\n")
	writeLiteral(out, now.data)
	writeLiteral(out, old.data)
}

// writeLiteral writes lines of up to 52 bytes: the length as a letter, then five
// digits for each four bytes.
func writeLiteral(out *strings.Builder, data []byte) {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
	fmt.Fprintf(out, "literal %d\n", len(data))
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, _ = w.Write(data) // a buffer takes all
	_ = w.Close()
	for packed.Len() > 0 {
		line := packed.Next(52)
		if n := len(line); n <= 26 {
			out.WriteByte('A' + byte(n-1))
		} else {
			out.WriteByte('a' + byte(n-27))
		}
		for len(line) > 0 {
			var four [4]byte
			line = line[copy(four[:], line):]
			n := uint32(four[0])<<24 | uint32(four[1])<<16 | uint32(four[2])<<8 | uint32(four[3])
			var five [5]byte
			for i := 4; i >= 0; i-- {
				five[i] = digits[n%85]
				n /= 85
			}
			out.Write(five[:])
		}
		out.WriteByte('\n')
	}
	out.WriteByte('\n')
}

// kept returns a state with its content from the ledger.
func (d *differ) kept(s rootfs.State, unkept bool) (side, error) {
	if s.Digest == "" {
		return side{State: s}, nil
	}
	if unkept || s.Size > d.most() {
		return side{State: s, large: true}, nil
	}
	data, err := d.l.Load(s.Digest)
	return side{State: s, data: data}, err
}

// most returns the size of the largest file whose content is in the diff.
func (d *differ) most() int64 {
	if d.patch {
		return MaxKeep
	}
	return MaxDiff
}

// sides returns the content that a path would have without the selection's changes, and its
// current content. Changes of others to the same path are on both sides; if they cannot be
// separated, there is a pair for each span.
func (d *differ) sides(c shift) ([][2]side, error) {
	now, err := sideOf(d.tree, c.Path, d.most())
	if err != nil && d.whole {
		return nil, err
	}
	ours := err == nil && now.Equal(c.last.After)
	alone := len(c.foreign()) == 0
	if !ours && d.whole && c.Kind != Renamed && !now.large || ours && !alone {
		if old, err := d.mergedOut(c, now); err == nil {
			return [][2]side{{old, now}}, nil
		}
	}
	spans := c.spans
	if alone || c.Kind == Renamed {
		spans = []span{{from: c.old, to: c.last.After}}
	}
	var pairs [][2]side
	for _, s := range spans {
		from, err := d.kept(s.from, c.Unkept)
		if err != nil {
			return nil, err
		}
		to := now
		if !ours || !alone {
			if to, err = d.kept(s.to, false); err != nil {
				return nil, errors.New("it has been changed since, and what the job left was not kept")
			}
		}
		pairs = append(pairs, [2]side{from, to})
	}
	return pairs, nil
}

// mergedOut returns a side without the selection's changes.
func (d *differ) mergedOut(c shift, now side) (side, error) {
	vs, err := d.l.without(&c.net, version{now.State, now.data})
	switch {
	case err != nil:
		return side{}, err
	case vs[0].data != nil:
		return side{State: vs[0].State, data: vs[0].data}, nil
	}
	return d.kept(vs[0].State, c.Unkept)
}

// sideOf reads a file on disk of at most so many bytes. Below a link, which git does not follow,
// there is nothing.
func sideOf(t *rootfs.Tree, p string, most int64) (side, error) {
	if link := new(rootfs.PathError); errors.As(t.CheckNoLinks(p), &link) {
		return side{}, nil
	}
	info, err := t.Root.Lstat(p)
	if err == nil && info.Mode().IsRegular() && info.Size() > most {
		s, err := t.State(p, nil)
		return side{State: s, large: true}, err
	}
	var data bytes.Buffer
	s, err := t.State(p, &data)
	return side{State: s, data: data.Bytes()}, err
}

// JSONName returns a name as JSON can hold it: quoted as git does, if it is not UTF-8 or begins
// with a quotation mark, so that each name has one spelling.
func JSONName(name string) string {
	if utf8.ValidString(name) && !strings.HasPrefix(name, "\"") {
		return name
	}
	return quoteName(name)
}

// quoteName spells a name as git does where it has odd characters.
func quoteName(name string) string {
	if utf8.ValidString(name) && !strings.ContainsAny(name, "\"\\\n\t") && rootfs.Visible(name) == name {
		return name
	}
	out := []byte{'"'}
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= '\a' && c <= '\r':
			out = append(out, '\\', "abtnvfr"[c-'\a'])
		case c < ' ' || c >= 0x7f:
			out = fmt.Appendf(out, "\\%03o", c)
		default:
			out = append(out, c)
		}
	}
	return string(append(out, '"'))
}
