package mcp

import (
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
)

// maxToolName is how long a name may be that all providers take.
const maxToolName = 64

// A toolID is a tool of a server by the names that both have there.
type toolID struct{ server, tool string }

// plainName is mcp__SERVER__TOOL in the letters that tools may have here.
func plainName(id toolID) string {
	safe := func(s string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
				return r
			case r >= 'A' && r <= 'Z':
				return r + 'a' - 'A'
			}
			return '_'
		}, s)
	}
	return turn.Prefix(id.server) + safe(id.tool)
}

// toolNames gives each tool a name of its own: the plain one where that is short
// and no other tool's differs from it in case and underscores only, else one that
// ends in a hash of both names. A tool whose name is another's all the same, which
// takes a server that looks for such names, has none.
func toolNames(ids []toolID) map[toolID]string {
	names := map[toolID]string{}
	hashed := map[toolID]bool{}
	for again := true; again; {
		again = false
		count := map[string]int{}
		for _, id := range ids {
			names[id] = plainName(id)
			if len(names[id]) > maxToolName || hashed[id] {
				names[id] = hashedName(id)
			}
			count[spelling.Fold(names[id])]++
		}
		for _, id := range ids {
			if count[spelling.Fold(names[id])] > 1 && !hashed[id] {
				hashed[id], again = true, true
			}
		}
	}
	taken := map[string]bool{}
	for _, id := range ids {
		if f := spelling.Fold(names[id]); taken[f] {
			delete(names, id)
		} else {
			taken[f] = true
		}
	}
	return names
}

// hashedName is the plain name, cut if need be, with a hash of both names.
func hashedName(id toolID) string {
	hash := "_" + digest([]byte(id.server + "\x00" + id.tool))[:8]
	name := plainName(id)
	return name[:min(len(name), maxToolName-len(hash))] + hash
}
