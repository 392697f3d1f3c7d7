package workspace

import (
	"bytes"
	"path"
	"slices"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// Revert takes back what the step of f has changed so far, for a step that was
// interrupted, so that it can be performed again. It reports false, and changes
// nothing, if that cannot be done for certain: because somebody else has
// changed one of the files since, or because links or directories were changed.
func (f *Files) Revert() (bool, error) {
	if f.Ledger == nil || f.Ledger.StepPath == "" {
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.Tree.Lock()()
	nets := f.Ledger.OwnChanges()
	var todo []ledger.PathChange
	for _, n := range slices.Backward(nets) {
		now, err := f.Tree.State(string(n.Path), nil)
		if err != nil {
			return false, err
		}
		switch {
		case n.Uncertain:
			return false, nil
		case now.Type == n.Before.Type && now.Digest == n.Before.Digest:
			continue
		case now.Type != n.After.Type || now.Digest != n.After.Digest:
			return false, nil
		case n.Before.Type == rootfs.TypeDir || n.Before.Type == rootfs.TypeLink || n.After.Type == rootfs.TypeLink:
			return false, nil
		}
		todo = append(todo, ledger.PathChange{Path: n.Path, Before: now, After: n.Before})
	}
	for _, d := range todo {
		if err := f.restore(d); err != nil {
			return false, err
		}
	}
	return true, nil
}

// restore gives a path the state d.After, whose content the ledger has.
func (f *Files) restore(d ledger.PathChange) error {
	p := string(d.Path)
	if d.After.Type == "" {
		return f.commit("", []ledger.PathChange{d}, func() error {
			if err := f.Tree.Root.Remove(p); err != nil {
				return f.Tree.Explain(p, err)
			}
			return f.Tree.Sync(path.Dir(p))
		})
	}
	data, err := f.Ledger.Load(d.After.Digest)
	if err != nil {
		return err
	}
	temp := rootfs.TempName(p)
	return f.commit(temp, []ledger.PathChange{d}, func() error {
		return f.Tree.Put(p, temp, d.After.Mode, bytes.NewReader(data))
	})
}
