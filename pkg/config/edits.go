package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/adroit-run/adroit/internal/tools/edit"
)

// checkFormats checks edit_formats: in which form models write edits, by a
// pattern of provider/model.
func checkFormats(at place, f map[string]edit.Format) error {
	for _, p := range slices.Sorted(maps.Keys(f)) {
		if !slices.Contains(edit.Formats, f[p]) {
			return fail(fmt.Errorf("%s: edit_formats: %s is %q", at("edit_formats", p), p, f[p]), "it is one of edit, blocks, patch, whole")
		}
	}
	return nil
}
