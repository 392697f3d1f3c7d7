package parts_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Which tools there are is held by docs/tools.md, which is generated.
func TestAll(t *testing.T) {
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	for tool := range set.All() {
		if err := tool.Check(); err != nil { // the set relies on it
			t.Error(err)
		}
	}
}

// A set checks no tool that ships, by where its arguments are declared: each start would
// infer all schemas.
func TestShips(t *testing.T) {
	for _, tool := range parts.Tools() {
		if !bytes.Contains(tool.Input.JSON(), []byte(`"properties":{"`)) {
			continue // a struct without a name, and no work
		}
		tool.Description = "" // which a check refuses
		if _, err := tools.NewSet(tool); err != nil {
			t.Errorf("%s is checked at each start: pkg/tools does not know that it ships", tool.Name)
		}
	}
}

// A misspelt category would make a heading of its own.
func TestCategories(t *testing.T) {
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := set.Categories(), strings.Fields("build code content publish research utility vcs"); !slices.Equal(got, want) {
		t.Errorf("the categories are %v, want %v", got, want)
	}
}

// Small models pay for every word, so the words are counted.
func TestBudget(t *testing.T) {
	total := 0
	for _, tool := range parts.Tools() {
		if n := len(strings.Fields(tool.Description)); n > 40 {
			t.Errorf("%s: its description has %d words, 40 are allowed", tool.Name, n)
		}
		if tool.UsageHint == "" {
			t.Errorf("%s: no usage hint", tool.Name)
		}
		total += len(tool.Name) + len(tool.Description) + len(tool.Input.JSON()) + 30
	}
	// Four bytes make about one token in English and JSON.
	if tokens := total / 4; tokens > 10050 {
		t.Errorf("all tools together take about %d tokens, 10050 are allowed: shorten a description, or raise the bound here", tokens)
	} else {
		t.Logf("about %d tokens", tokens)
	}
}

// Doctor looks for each program that tools run, in the part that has the tools.
func TestExamine(t *testing.T) {
	var names []string
	for _, look := range adroit.ExaminationsOf(parts.All()) {
		for _, f := range look(t.Context()) {
			names = append(names, f.Name)
		}
	}
	if got := strings.Join(names, " "); got != "rg ctags go pytest node cargo ffmpeg" {
		t.Error(got)
	}
}

func ExampleAll() {
	set, err := tools.NewSet(parts.Tools()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	read, _ := set.Lookup("read_file")
	fmt.Println(read.Needs, read.Safe())
	// Output: read pure
}
