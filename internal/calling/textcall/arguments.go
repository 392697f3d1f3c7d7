package textcall

import (
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// Arguments reads the arguments of a call that are not quite JSON, such as those with
// single quotes or a comma too many. It reports false unless raw is a whole object.
func Arguments(raw string) (args []byte, note string, ok bool) {
	v, fixed, err := parseLenient(strings.TrimSpace(raw))
	if err != nil || v.Kind != '{' {
		return nil, "", false
	}
	if fixed != 0 {
		note = "the arguments of a tool call were not quite JSON; repaired: " + fixed.String()
	}
	return v.Append(nil), note, true
}

// Whose reads raw as the arguments of a call whose name was lost on the way.
// It reports false unless raw is a whole object and one offered tool alone
// takes its keys.
func Whose(raw string, offered []llm.ToolSpec) (call llm.Call, note string, ok bool) {
	k := newKit(Options{Offered: offered})
	v, _, err := parseLenient(strings.TrimSpace(raw))
	if err != nil || v.Kind != '{' || len(v.Keys) == 0 {
		return call, "", false
	}
	for _, t := range offered {
		s := k.shape(t.Name)
		fits := true
		for _, key := range v.Keys {
			_, known := s.Properties[key]
			fits = fits && known
		}
		for _, key := range s.Required {
			fits = fits && slices.Contains(v.Keys, key)
		}
		if !fits {
			continue
		}
		if ok {
			return llm.Call{}, "", false
		}
		call, ok = llm.Call{Name: t.Name, Args: v.Append(nil)}, true
	}
	if ok {
		_, note, _ = Arguments(raw)
	}
	return call, note, ok
}
