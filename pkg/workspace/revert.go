package workspace

import (
	"bytes"
	"path"
	"slices"
)

// Revert takes back what the step of f has changed so far, for a step that was
// interrupted, so that it can be performed again. It reports false, and changes
// nothing, if that cannot be done for certain: because somebody else has
// changed one of the files since, or because links or directories were changed.
func (f *Files) Revert() (bool, error) {
	if f.led == nil || f.led.step == "" {
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.tree.lock()()
	nets := f.led.own()
	var todo []delta
	for _, n := range slices.Backward(nets) {
		now, err := f.tree.state(string(n.Path), nil)
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
		case n.Before.Type == isDir || n.Before.Type == isLink || n.After.Type == isLink:
			return false, nil
		}
		todo = append(todo, delta{Path: n.Path, Before: now, After: n.Before})
	}
	for _, d := range todo {
		if err := f.restore(d); err != nil {
			return false, err
		}
	}
	return true, nil
}

// restore gives a path the state d.After, whose content the ledger has.
func (f *Files) restore(d delta) error {
	p := string(d.Path)
	if d.After.Type == "" {
		return f.commit("", []delta{d}, func() error {
			if err := f.tree.root.Remove(p); err != nil {
				return f.tree.explain(p, err)
			}
			return f.tree.sync(path.Dir(p))
		})
	}
	data, err := f.led.load(d.After.Digest)
	if err != nil {
		return err
	}
	temp := tempName(p)
	return f.commit(temp, []delta{d}, func() error {
		return f.tree.put(p, temp, d.After.Mode, bytes.NewReader(data))
	})
}

// own lists what the ledger's step comes to for each path, in the order in
// which the step came to them. Uncertain is one that somebody else may have had
// a part in.
func (l *Ledger) own() (nets []delta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := map[rawName]int{}
	for _, e := range l.log {
		if e.step != l.step {
			continue
		}
		if i, ok := at[e.Path]; ok {
			nets[i].Uncertain = nets[i].Uncertain || e.Uncertain || !e.Before.same(nets[i].After)
			nets[i].After = e.After
			continue
		}
		at[e.Path] = len(nets)
		nets = append(nets, delta{Path: e.Path, Before: e.Before, After: e.After, Uncertain: e.Uncertain})
	}
	return nets
}
