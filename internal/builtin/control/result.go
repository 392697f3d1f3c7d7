package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/adroit-run/adroit/pkg/tools"
)

// input of read_result.
type resultInput struct {
	ID     string `json:"id"`
	From   int    `json:"from,omitempty" jsonschema:"description=First line"`
	Lines  int    `json:"lines,omitempty" jsonschema:"deprecated,description=How many; default 200"`
	Search string `json:"search,omitempty" jsonschema:"description=Only lines that match"`
}

// ReadResult is the tool read_result.
var ReadResult = tools.New(tools.Metadata{
	Name: "read_result", Category: "utility", Effect: tools.Pure, Optionality: tools.Optional,
	Examples: []tools.Example{{Note: "what went wrong", Args: json.RawMessage(`{"id":"3fa9c2d1e07b","search":"error:"}`)}},
}.ProseIn(descriptions), read)

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

// DescriptionsArtifact has the full descriptions, by name.
const DescriptionsArtifact = "tool_descriptions"

// input of describe_tool.
type describeInput struct {
	Name string `json:"name" jsonschema:"minLength=1,description=The tool"`
}

// Describe is the tool describe_tool.
var Describe = tools.New(tools.Metadata{
	Name: "describe_tool", Category: "utility", Effect: tools.Pure, Optionality: tools.Optional, Consumes: []string{DescriptionsArtifact},
	Examples: []tools.Example{{Note: "how to call it", Args: json.RawMessage(`{"name":"git_blame"}`)}},
}.ProseIn(descriptions), describe)

func describe(_ context.Context, env *tools.Env, in describeInput) (tools.Result, error) {
	raw := env.Artifacts.Value(DescriptionsArtifact)
	if raw == nil {
		return tools.Result{}, fmt.Errorf("every tool here is described in full already; go on without")
	}
	var all map[string]string
	if err := json.Unmarshal(raw, &all); err != nil {
		return tools.Result{}, tools.Fatal(fmt.Errorf("the descriptions of this job's tools cannot be read: %w", err))
	}
	text, ok := all[in.Name]
	if !ok {
		return tools.Result{}, fmt.Errorf("there is nothing more to tell of %q; more is known of: %s", in.Name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	return tools.Result{Text: text, Summary: in.Name}, nil
}

// maxLineBytes is the length at which a long line of a kept result is broken.
const maxLineBytes = 800

// ResultLines are the lines of a kept result as they are numbered: a line
// that is too long, as in JSON that was not indented, counts as several.
func ResultLines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		for len(line) > maxLineBytes {
			n := maxLineBytes
			for n > 0 && !utf8.RuneStart(line[n]) {
				n--
			}
			n = cmp.Or(n, maxLineBytes)
			out, line = append(out, line[:n]), line[n:]
		}
		out = append(out, line)
	}
	return out
}
