package edit

import (
	"encoding/json"

	"github.com/adroit-run/adroit/pkg/tools"
)

// touching gives path rules the files that a call's text names. A text that
// cannot be parsed names none, and changes none.
func touching(t tools.Tool, names func(args json.RawMessage) []string) tools.Tool {
	t.Touches = names
	return t
}

func patchNames(args json.RawMessage) []string {
	var in PatchInput
	if json.Unmarshal(args, &in) != nil {
		return nil
	}
	secs, err := parsePatch(in.Patch)
	if err != nil {
		return nil
	}
	var out []string
	for _, s := range secs {
		out = append(out, s.path)
		if s.to != "" {
			out = append(out, s.to)
		}
	}
	return out
}

func blockNames(args json.RawMessage) []string {
	var in BlocksInput
	if json.Unmarshal(args, &in) != nil {
		return nil
	}
	bs, err := parseBlocks(in.Blocks)
	if err != nil {
		return nil
	}
	var out []string
	for _, b := range bs {
		out = append(out, b.path)
	}
	return out
}
