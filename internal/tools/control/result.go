package control

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/adroit-run/adroit/pkg/tools"
)

// input of read_result.
type resultInput struct {
	ID     string `json:"id"`
	From   int    `json:"from,omitempty" jsonschema:"description=First line"`
	Lines  int    `json:"lines,omitempty" jsonschema:"deprecated,description=How many; default 200"`
	Search string `json:"search,omitempty" jsonschema:"description=Only lines that match"`
}

//go:embed read_result.md
var resultProse string

// Read is the tool read_result.
var ReadResult = tools.New(tools.Metadata{
	Name: "read_result", Category: "utility", Effect: tools.Pure, Optionality: tools.Optional,
	Examples: []tools.Example{{Note: "what went wrong", Args: json.RawMessage(`{"id":"3fa9c2d1e07b","search":"error:"}`)}},
}.Prose(resultProse), read)

const (
	usualLines = 200
	usualBytes = 8 << 10 // where the model may be shown as much as one likes
	tailRoom   = 120     // bytes of the line that says how to go on
)

func read(_ context.Context, env *tools.Env, in resultInput) (tools.Result, error) {
	if env.Result == nil {
		return tools.Result{}, errors.New("nothing is kept of earlier results here; call the tool again and ask for less")
	}
	text, err := env.Result(in.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return tools.Result{}, fmt.Errorf("there is no result %q: ids are named where a result was cut; call the tool again if it is gone", in.ID)
	}
	if err != nil {
		return tools.Result{}, tools.Fatal(fmt.Errorf("reading a kept result: %w", err))
	}
	match := func(string) bool { return true }
	if in.Search != "" {
		re, err := regexp.Compile(in.Search)
		if err != nil {
			re = regexp.MustCompile(regexp.QuoteMeta(in.Search)) // they meant the text
		}
		match = re.MatchString
	}
	if in.Lines <= 0 {
		in.Lines = usualLines
	}
	room := usualBytes
	if env.MaxResultBytes > 0 {
		room = env.MaxResultBytes
	}
	room -= tailRoom
	lines := ResultLines(text)
	in.From = max(in.From, 1)
	var b strings.Builder
	shown, next := 0, 0
	for i := in.From - 1; i < len(lines); i++ {
		if !match(lines[i]) {
			continue
		}
		line := fmt.Sprintf("%d\t%s\n", i+1, lines[i])
		if shown == in.Lines || shown > 0 && b.Len()+len(line) > room {
			next = i + 1
			break
		}
		b.WriteString(line)
		shown++
	}
	switch {
	case shown == 0 && in.From > len(lines):
		return tools.Result{}, fmt.Errorf("the result has %d lines: from must not be above that", len(lines))
	case shown == 0:
		return tools.Result{Text: fmt.Sprintf("No line from %d of %d matches %q.", in.From, len(lines), in.Search), Taint: tools.Untrusted, Summary: in.ID + ": no match"}, nil
	case next > 0:
		fmt.Fprintf(&b, "[%d lines in all; go on with from=%d]\n", len(lines), next)
	}
	return tools.Result{Text: b.String(), Taint: tools.Untrusted, Summary: fmt.Sprintf("%s: %d of %d lines", in.ID, shown, len(lines))}, nil
}
