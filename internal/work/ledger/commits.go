package ledger

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// maxCommits bounds how many commits are listed.
const maxCommits = 200

// A Commit is one that a job's references have and no other does.
type Commit = struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
	// Guarded are its files that programs outside of the sandbox run or obey once they are
	// checked out, Unlisted those that are not among the files that the job changed.
	Guarded  []string `json:"guarded,omitempty"`
	Unlisted []string `json:"unlisted,omitempty"`
}

// Commits returns the commits of the selection, the newest first: those reachable from the
// references that it moved, and not reachable before. It is an error if git no longer has them.
func (p Selection) Commits(ctx context.Context, root string) ([]Commit, error) {
	refs, err := p.Refs(ctx)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	changes, err := p.Changes(ctx)
	if err != nil {
		return nil, err
	}
	t, err := rootfs.Open(root)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	_, sub, ok := t.Repository()
	if !ok {
		return nil, nil
	}
	var after, before []string
	for _, r := range refs {
		if r.Path == IndexRef {
			continue
		}
		if isID(r.After) {
			after = append(after, r.After)
		}
		if isID(r.Before) {
			before = append(before, r.Before)
		}
		if strings.HasPrefix(r.Path, "refs/") {
			before = append(before, "--exclude="+r.Path)
		}
	}
	if len(after) == 0 {
		return nil, nil
	}
	args := slices.Concat([]string{"log", "-z", "-m", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--format=%x01%H %s", "-n", strconv.Itoa(maxCommits)},
		after, []string{"--not"}, before, []string{"--glob=refs/*", "--"})
	out, err := t.Git(ctx, nil, args...)
	if err != nil {
		return nil, fmt.Errorf("listing the commits of the job: %w", err)
	}
	known := map[string]bool{}
	for _, c := range changes {
		known[c.Path], known[c.From] = true, true
	}
	return commitsIn(out, sub, known, rootfs.NewClassifier(p.l.DenyList)), nil
}

// commitsIn parses the output of git log.
func commitsIn(out []byte, sub string, known map[string]bool, names *rootfs.Classifier) (commits []Commit) {
	for field := range bytes.SplitSeq(out, []byte{0}) {
		if head, ok := bytes.CutPrefix(field, []byte{1}); ok {
			id, subject, _ := strings.Cut(string(head), " ")
			if n := len(commits); isID(id) && (n == 0 || commits[n-1].ID != id) { // a merge is there for each parent
				commits = append(commits, Commit{ID: id, Subject: rootfs.Visible(strings.ToValidUTF8(subject, "?"))})
			}
			if isID(id) {
				continue
			}
		}
		name := strings.TrimPrefix(string(field), "\n")
		if name == "" || len(commits) == 0 {
			continue
		}
		c, here := &commits[len(commits)-1], name
		if sub != "." {
			var ok bool
			if here, ok = strings.CutPrefix(name, sub+"/"); !ok {
				here = name // around the workspace
				c.Unlisted = appendOnce(c.Unlisted, name)
			}
		}
		if names.Class(name).Config() {
			c.Guarded = appendOnce(c.Guarded, name)
		} else if !known[here] {
			c.Unlisted = appendOnce(c.Unlisted, name)
		}
	}
	return commits
}

func appendOnce(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// isID reports whether a value is the id of an object.
func isID(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) >= 40
}
