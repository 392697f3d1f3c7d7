package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/adroit-run/adroit/internal/rootfs"
	"github.com/adroit-run/adroit/internal/workspace/textfile"
)

// Diff returns a unified diff, in git's form, of what this job changed: from what
// the files would be like without it to what they are like. What others changed
// in the same files is not in it, nor are paths that are as they were; binary
// and very large files are named only. Uncertain changes are left out: see
// [Part.IncludeUncertain]. With color it has the escape sequences of a terminal.
func (l *Ledger) Diff(ctx context.Context, root string, color bool) (string, error) {
	return l.All().Diff(ctx, root, color)
}

// Diff is like [Ledger.Diff]. For a part that is not the whole it shows what
// the steps left, also where the files have been changed since.
func (p Selection) Diff(ctx context.Context, root string, color bool) (string, error) {
	if err := p.l.peek(ctx); err != nil {
		return "", err
	}
	t, err := rootfs.Open(root)
	if err != nil {
		return "", err
	}
	defer t.Close()
	var out strings.Builder
	for _, c := range p.l.shifts(p.nets()) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		out.WriteString(p.diffOne(t, c))
	}
	if color {
		return paint(out.String()), nil
	}
	return out.String(), nil
}

// side is one half of a comparison.
type side struct {
	rootfs.State
	data  []byte
	large bool
}

func (s side) mode() string {
	switch {
	case s.Type == rootfs.TypeLink:
		return "120000"
	case s.Type == rootfs.TypeDir:
		return "040000"
	case s.Mode&0o111 != 0:
		return "100755"
	}
	return "100644"
}

func (p Selection) diffOne(t *rootfs.Tree, c shift) string {
	source := c.Path
	if c.Kind == Renamed {
		source = c.Change.From
	}
	if p.l.DenyList.Check(source, source, false) != nil || p.l.DenyList.Check(c.Path, c.Path, false) != nil {
		return fmt.Sprintf("diff --git %s %s\n# not shown: on the list of secrets and repository internals\n", quoteName("a/"+source), quoteName("b/"+c.Path))
	}
	pairs, err := p.sides(t, c)
	if err != nil {
		return fmt.Sprintf("diff --git %s %s\n# not compared: %v\n", quoteName("a/"+source), quoteName("b/"+c.Path), textfile.Visible(err.Error()))
	}
	var out strings.Builder
	for i, pair := range pairs {
		one := c.unified(source, pair[0], pair[1])
		if one != "" && c.Uncertain {
			fmt.Fprintf(&out, "# uncertain: %s\n", doubt(c.Change.Step))
		}
		if one != "" && len(pairs) > 1 {
			fmt.Fprintf(&out, "# part %d of %d: somebody else changed the same lines in between\n", i+1, len(pairs))
		}
		out.WriteString(one)
	}
	return out.String()
}

// unified is the diff of two sides, "" if there is no difference.
func (c shift) unified(source string, old, now side) string {
	if c.Kind != Renamed && old.Equal(now.State) || old.Type == "" && now.Type == "" {
		return ""
	}
	var out strings.Builder
	from, to := quoteName("a/"+source), quoteName("b/"+c.Path)
	fmt.Fprintf(&out, "diff --git %s %s\n", from, to)
	switch {
	case old.Type == "":
		fmt.Fprintf(&out, "new file mode %s\n", now.mode())
		from = "/dev/null"
	case now.Type == "":
		fmt.Fprintf(&out, "deleted file mode %s\n", old.mode())
		to = "/dev/null"
	default:
		if old.mode() != now.mode() {
			fmt.Fprintf(&out, "old mode %s\nnew mode %s\n", old.mode(), now.mode())
		}
		if c.Kind == Renamed {
			fmt.Fprintf(&out, "rename from %s\nrename to %s\n", quoteName(source), quoteName(c.Path))
		}
	}
	switch {
	case old.Digest == now.Digest:
	case old.large || now.large:
		fmt.Fprintf(&out, "# %d bytes before, %d bytes now: too large to compare\n", old.Size, now.Size)
	case !textfile.IsText(old.data) || !textfile.IsText(now.data):
		fmt.Fprintf(&out, "Binary files %s and %s differ\n", from, to)
	default:
		out.WriteString(udiff.Unified(from, to, string(old.data), string(now.data)))
	}
	return out.String()
}

// kept is a state with its content from the ledger.
func (l *Ledger) kept(s rootfs.State, unkept bool) (side, error) {
	if s.Digest == "" {
		return side{State: s}, nil
	}
	if unkept || s.Size > MaxDiff {
		return side{State: s, large: true}, nil
	}
	data, err := l.Load(s.Digest)
	return side{State: s, data: data}, err
}

// sides are what a path would be like without the part's changes, and what it
// is like. Where somebody else changed the path as well, their changes are on
// both sides; if they cannot be separated, there is a pair for each span.
func (p Selection) sides(t *rootfs.Tree, c shift) ([][2]side, error) {
	now, err := sideOf(t, c.Path)
	if err != nil && p.whole {
		return nil, err
	}
	ours := err == nil && now.Equal(c.last.After)
	alone := len(c.foreign()) == 0
	if !ours && p.whole && c.Kind != Renamed && !now.large || ours && !alone {
		if old, err := p.mergedOut(c, now); err == nil {
			return [][2]side{{old, now}}, nil
		}
	}
	spans := c.spans
	if alone || c.Kind == Renamed {
		spans = []span{{from: c.old, to: c.last.After}}
	}
	var pairs [][2]side
	for _, s := range spans {
		from, err := p.l.kept(s.from, c.Unkept)
		if err != nil {
			return nil, err
		}
		to := now
		if !ours || !alone {
			if to, err = p.l.kept(s.to, false); err != nil {
				return nil, errors.New("it has been changed since, and what the job left was not kept")
			}
		}
		pairs = append(pairs, [2]side{from, to})
	}
	return pairs, nil
}

// mergedOut is what is left of a side without the part's changes.
func (p Selection) mergedOut(c shift, now side) (side, error) {
	vs, err := p.l.without(&c.net, version{now.State, now.data})
	switch {
	case err != nil:
		return side{}, err
	case vs[0].data != nil:
		return side{State: vs[0].State, data: vs[0].data}, nil
	}
	return p.l.kept(vs[0].State, c.Unkept)
}

// sideOf reads what is on disk, if no part of the name is a link.
func sideOf(t *rootfs.Tree, p string) (side, error) {
	if err := t.CheckNoLinks(p); err != nil {
		return side{}, err
	}
	info, err := t.Root.Lstat(p)
	if err == nil && info.Mode().IsRegular() && info.Size() > MaxDiff {
		s, err := t.State(p, nil)
		return side{State: s, large: true}, err
	}
	var data strings.Builder
	s, err := t.State(p, &data)
	return side{State: s, data: []byte(data.String())}, err
}

// quoteName spells a name as git does where it has odd characters.
func quoteName(name string) string {
	if strings.ContainsAny(name, "\"\\") || textfile.Visible(name) != name || strings.ContainsAny(name, "\n\t") {
		return strconv.Quote(name)
	}
	return name
}

func paint(diff string) string {
	const bold, red, green, cyan, off = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[m"
	var out strings.Builder
	hunk := false
	for line := range strings.Lines(diff) {
		body, end := strings.CutSuffix(line, "\n")
		body = textfile.Visible(body) // the only escapes are ours
		color := ""
		switch {
		case strings.HasPrefix(body, "diff --git "):
			hunk, color = false, bold
		case strings.HasPrefix(body, "@@"):
			hunk, color = true, cyan
		case !hunk:
			color = bold
		case body != "" && body[0] == '+':
			color = green
		case body != "" && body[0] == '-':
			color = red
		}
		if color != "" {
			body = color + body + off
		}
		out.WriteString(body)
		if end {
			out.WriteByte('\n')
		}
	}
	return out.String()
}
