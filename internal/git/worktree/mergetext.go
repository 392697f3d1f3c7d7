package worktree

import (
	"fmt"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// merge merges a text that both sides changed, line by line, and keeps the
// result. why says that it cannot be done, or not without a decision.
func (j *merger) merge(p string, th copyChange, here rootfs.State) (merged []byte, why string, err error) {
	if max(th.was.Size, th.now.Size, here.Size) > ledger.MaxDiff {
		return nil, bothFile, nil
	}
	old, err := j.c.before(j.ctx, th.path, th.was, j.leds)
	if err != nil {
		return nil, "both sides changed it, and what it was like before is not known any more", j.ctx.Err()
	}
	load := func(t *rootfs.Tree, p string) ([]byte, error) {
		s, err := j.f.Ledger.Capture(t, p, false)
		if err != nil {
			return nil, err
		}
		return j.f.Ledger.Load(s.Digest)
	}
	ours, err := load(j.f.Tree, p)
	if err != nil {
		return nil, "", err
	}
	new, err := load(j.t, th.path)
	if err != nil {
		return nil, "", err
	}
	if rootfs.Digest(ours) != here.Digest || !rootfs.IsText(old) || !rootfs.IsText(ours) || !rootfs.IsText(new) {
		return nil, bothFile, nil
	}
	merged, clean, err := rootfs.MergeText(j.ctx, j.c.home, old, ours, new)
	if err != nil {
		return nil, fmt.Sprintf("both sides changed it, and git did not merge it: %v", err), j.ctx.Err()
	}
	if !clean {
		return nil, rootfs.SameLines, nil
	}
	return merged, "", j.f.Ledger.Store(merged)
}
