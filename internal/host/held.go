package host

import (
	"encoding/json"
	"slices"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/process"
)

// held is what the loop gets of the files that a call's commands made and that programs
// outside the sandbox obey, by kind, nil if there are none.
func held(files []process.Held) (json.RawMessage, error) {
	if len(files) == 0 {
		return nil, nil
	}
	places := map[int]*turn.Held{}
	var order []int
	for _, f := range files {
		what, place, _ := rootfs.Obeyed(f.Path)
		if places[place] == nil {
			places[place], order = &turn.Held{What: what}, append(order, place)
		}
		k := places[place]
		k.Files = append(k.Files, turn.HeldFile{Path: f.Path, SHA256: f.Digest, Executable: f.Executable})
		k.Kept = append(k.Kept, f.Kept)
	}
	slices.Sort(order)
	var kinds []turn.Held
	for _, place := range order {
		kinds = append(kinds, *places[place])
	}
	return json.Marshal(kinds)
}
