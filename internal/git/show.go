package git

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/process"
)

// Show returns a commit and, as a unified diff, what it changed: against its
// first parent, below the workspace, of the given paths if there are any.
// Files on the list of secrets are left out.
func (g *Repo) Show(ctx context.Context, ref string, paths []string) (*Commit, string, error) {
	if err := CheckRef("commit", ref); err != nil {
		return nil, "", err
	}
	g = g.Operation()
	hash, err := g.ResolveCommit(ctx, ref)
	if err != nil {
		return nil, "", err
	}
	out, err := g.Run(ctx, process.Cmd{Args: []string{"log", "-z", "--no-show-signature", "--no-ext-diff", "--no-textconv", logFormat, "-n", "1", hash, "--"}})
	if err != nil {
		return nil, "", err
	}
	log := parseLog(string(out))
	if len(log) == 0 {
		return nil, "", fmt.Errorf("git does not show commit %s", hash)
	}
	parent := ""
	if c := log[0]; len(c.Parents) > 0 {
		parent = c.Parents[0]
	} else if parent, err = g.nothing(ctx); err != nil {
		return nil, "", err
	}
	diff, err := g.Diff(ctx, DiffOptions{From: parent, To: hash, Paths: paths})
	return &log[0], diff, err
}

// nothing is the hash of a tree with nothing in it.
func (g *Repo) nothing(ctx context.Context) (string, error) {
	out, err := g.RunPlumbing(ctx, nil, process.Cmd{Args: []string{"hash-object", "-t", "tree", "--stdin"}, Stdin: []byte{}})
	return strings.TrimSpace(string(out)), err
}

// A BlameLine is a line of a file and the commit it is from.
type BlameLine struct {
	Line    int       `json:"line"`
	Commit  string    `json:"commit"` // all zeros if it is not committed
	Author  string    `json:"author"`
	Time    time.Time `json:"time"`
	Subject string    `json:"subject"`
	Text    string    `json:"text"`
}

// Blame says of n lines of a file, from the given one, counted from 1, which
// commits they are from.
func (g *Repo) Blame(ctx context.Context, path string, from, n int) ([]BlameLine, error) {
	if _, err := g.pathspec(path); err != nil {
		return nil, err
	}
	if _, _, err := g.Locate(ctx); err != nil {
		return nil, err
	}
	from = max(from, 1)
	out, err := g.Run(ctx, process.Cmd{Args: []string{"blame", "--line-porcelain", "--no-textconv", "--no-progress", "-L",
		strconv.Itoa(from) + ",+" + strconv.Itoa(max(n, 1)), "--", "./" + filepath.ToSlash(filepath.Clean(path))}})
	if err != nil {
		return nil, err
	}
	return parseBlame(string(out)), nil
}

func parseBlame(out string) []BlameLine {
	var lines []BlameLine
	var l BlameLine
	head := true
	for row := range strings.SplitSeq(out, "\n") {
		if text, ok := strings.CutPrefix(row, "\t"); ok {
			l.Text, head = rootfs.Visible(text), true
			lines = append(lines, l)
			continue
		}
		key, value, _ := strings.Cut(row, " ")
		switch {
		case head: // hash, line before, line now, lines in the group
			if f := strings.Fields(value); len(f) > 1 {
				no, _ := strconv.Atoi(f[1])
				l = BlameLine{Commit: key, Line: no}
			}
			head = false
		case key == "author":
			l.Author = rootfs.Visible(value)
		case key == "author-time":
			sec, _ := strconv.ParseInt(value, 10, 64)
			l.Time = time.Unix(sec, 0).UTC()
		case key == "summary":
			l.Subject = rootfs.Visible(value)
		}
	}
	return lines
}
