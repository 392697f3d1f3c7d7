package navigate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
)

var errNoTags = errors.New("universal-ctags is not installed")

const maxTags = 8 << 20 // bytes of what ctags prints

// ctags lists what files declare, by file.
func (c code) ctags(ctx context.Context, names []string) (map[string][]tools.Symbol, error) {
	if _, err := hostexec.InSandbox("ctags"); err != nil || c.env.Exec == nil {
		return nil, errNoTags
	}
	var list strings.Builder
	for _, name := range names {
		if !strings.ContainsAny(name, "\n\r") {
			list.WriteString("./" + name + "\n")
		}
	}
	out := &bounded{most: maxTags}
	// A repository's own options could run programs: none are read.
	o, err := c.env.Exec.Run(ctx, process.Cmd{
		Args:  []string{"ctags", "--options=NONE", "--output-format=json", "--fields=+neKS", "--sort=no", "--links=no", "-f", "-", "-L", "-"},
		Stdin: []byte(list.String()), Stdout: out, Timeout: patience})
	if err != nil {
		return nil, err
	}
	if o.Code != 0 {
		return nil, errNoTags // or another program of that name
	}
	by := map[string][]tools.Symbol{}
	for line := range bytes.Lines(out.Bytes()) {
		var tag struct {
			Type      string `json:"_type"`
			Name      string `json:"name"`
			Path      string `json:"path"`
			Line      int    `json:"line"`
			End       int    `json:"end"`
			Kind      string `json:"kind"`
			ScopeKind string `json:"scopeKind"`
			Scope     string `json:"scope"`
		}
		if json.Unmarshal(line, &tag) != nil || tag.Type != "tag" || strings.HasPrefix(tag.Name, "__anon") {
			continue
		}
		switch tag.ScopeKind {
		case "function", "method", "func", "member", "variable", "constant":
			continue // inside of a function
		}
		switch tag.Kind {
		case "unknown", "parameter", "local", "package", "heredoc":
			continue
		}
		depth := 0
		if tag.Scope != "" {
			depth = 1
		}
		name := strings.TrimPrefix(tag.Path, "./")
		by[name] = append(by[name], tools.Symbol{Name: tag.Name, Kind: tag.Kind, End: tag.End, Depth: depth, Location: tools.Location{File: name, Line: tag.Line, Column: 1}})
	}
	for _, syms := range by {
		slices.SortStableFunc(syms, func(a, b tools.Symbol) int { return cmp.Compare(a.Line, b.Line) })
	}
	return by, nil
}

// A bounded buffer takes everything and keeps the beginning.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
