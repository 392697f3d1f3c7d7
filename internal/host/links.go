package host

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/adroit-run/adroit/internal/text/match"
	"github.com/adroit-run/adroit/pkg/tools"
)

// maxWild bounds how many names of the workspace are looked at for one with wildcards.
const maxWild = 10000

// follower is what rules about paths need to see through the links of a workspace.
func follower(env *tools.Env) func(name string, wild bool) (names []string, unknown bool) {
	return func(name string, wild bool) (names []string, unknown bool) {
		if path.IsAbs(name) {
			in, ok := env.Files.Tree.Inside(name)
			if !ok {
				return nil, false
			}
			name = in
		}
		all := []string{name}
		if wild {
			all, unknown = expand(env, name)
		}
		for _, n := range all {
			if real, err := env.Files.Tree.Resolve(n, n, true); err == nil { // else it leads out, or nowhere
				names = append(names, real)
			}
		}
		return names, unknown
	}
}

// expand lists what a name with wildcards may stand for, hidden files too. more: there may
// be others.
func expand(env *tools.Env, name string) (names []string, more bool) {
	names, seen := []string{"."}, 0
	for part := range strings.SplitSeq(name, "/") {
		if !strings.ContainsAny(part, `*?[`) {
			for i := range names {
				names[i] += "/" + part
			}
			continue
		}
		var next []string
		for _, dir := range names {
			real, err := env.Files.Tree.Resolve(dir, dir, true)
			if err != nil {
				continue
			}
			entries, err := fs.ReadDir(env.Files.Tree.Root.FS(), real)
			if seen += len(entries); err != nil && !errors.Is(err, fs.ErrNotExist) || seen > maxWild {
				return nil, true
			}
			for _, e := range entries {
				if match.Path(part, e.Name()) {
					next = append(next, dir+"/"+e.Name())
				}
			}
		}
		names = next
	}
	return names, false
}
