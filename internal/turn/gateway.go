package turn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Bounds of what is offered as it is. What is beyond them is behind describe_tool
// and call_tool.
const (
	maxDirect      = 40     // tools
	maxDirectBytes = 20_000 // of what is sent of them, some 6,000 tokens
)

// Direct reports whether tools are few and short enough for the list of tools that
// a model is sent with each request.
func Direct(list []Tool) bool {
	size := 0
	for _, t := range list {
		size += len(t.Name) + len(t.Description) + len(t.Input)
	}
	return len(list) <= maxDirect && size <= maxDirectBytes
}

// maxListing bounds the names in a listing, some 1,200 tokens.
const maxListing = 4000

// Listing are the names of tools by server, as far as there is room: each server
// gets its part of it.
func Listing(list []Tool) string {
	by := map[string][]string{}
	var servers []string
	for _, t := range list {
		if by[t.Server] == nil {
			servers = append(servers, t.Server)
		}
		by[t.Server] = append(by[t.Server], strings.TrimPrefix(t.Name, Prefix(t.Server)))
	}
	slices.Sort(servers)
	var b strings.Builder
	for i, server := range servers {
		room := (maxListing - b.Len()) / (len(servers) - i)
		names := by[server]
		slices.Sort(names)
		line, n := fmt.Sprintf("%s has %d tools:", server, len(names)), 0
		for _, name := range names {
			if len(line)+len(name)+2 > room {
				break
			}
			line += " " + name
			n++
		}
		if n == 0 && room < len(line) {
			continue
		}
		if n < len(names) {
			line += " …"
		}
		fmt.Fprintf(&b, "\n%s* = %s", Prefix(server), line)
	}
	return b.String()
}

// mostFound is how many tools a search shows.
const mostFound = 20

// Find lists the tools that words speak of, the best first, a line each; more is
// how many there are beyond those.
func FindServer(list []Tool, words string) (lines []string, more int) {
	type hit struct {
		t     Tool
		score int
	}
	var hits []hit
	terms := strings.FieldsFunc(strings.ToLower(words), func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r > 127) })
	for _, t := range list {
		name, about, score := strings.ToLower(t.Name), strings.ToLower(t.Description), 0
		for _, term := range terms {
			switch {
			case strings.Contains(name, term):
				score += 3
			case len(term) > 2 && strings.Contains(about, term):
				score++
			}
		}
		if score > 0 || len(terms) == 0 {
			hits = append(hits, hit{t, score})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.t.Name, b.t.Name))
	})
	for _, h := range hits[:min(len(hits), mostFound)] {
		about, _, _ := strings.Cut(h.t.Description, "\n")
		if about = strings.ToValidUTF8(about, ""); len(about) > 120 {
			about = strings.ToValidUTF8(about[:120], "") + "…"
		}
		lines = append(lines, h.t.Name+": "+about)
	}
	return lines, max(0, len(hits)-mostFound)
}
