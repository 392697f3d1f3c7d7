package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/adroit-run/adroit/internal/turn"
)

const callingHint = "it is one of auto, native, constrained, text"

// checkCalling checks calling: how models call tools, by a pattern of
// provider/model.
func checkCalling(at place, by map[string]turn.Mode) error {
	for _, p := range slices.Sorted(maps.Keys(by)) {
		if !slices.Contains(turn.Modes, by[p]) {
			return fail(fmt.Errorf("%s: calling: %s is %q", at("calling", p), p, by[p]), callingHint)
		}
	}
	return nil
}
