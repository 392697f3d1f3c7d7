package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/adroit-run/adroit/pkg/executor/toolcall"
)

const callingHint = "it is one of auto, native, constrained, text"

// checkCalling judges calling: how models whose provider/model matches call
// tools.
func checkCalling(where string, by map[string]toolcall.Mode) error {
	for _, p := range slices.Sorted(maps.Keys(by)) {
		if !slices.Contains(toolcall.Modes, by[p]) {
			return fail(fmt.Errorf("%s: calling: %s is %q", where, p, by[p]), callingHint)
		}
	}
	return nil
}

func callingSettings(by map[string]toolcall.Mode) []setting {
	var out []setting
	for _, p := range slices.Sorted(maps.Keys(by)) {
		out = append(out, setting{"calling." + p, string(by[p]), true})
	}
	return out
}
