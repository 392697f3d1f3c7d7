package show

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/executor"
)

// Artifacts renders the list of what a job has produced.
func Artifacts(w io.Writer, list *adroit.ArtifactList) {
	var t kit.Table
	for _, name := range slices.Sorted(maps.Keys(list.Artifacts)) {
		a := list.Artifacts[name]
		t.Row(name, kit.Plural(len(a.Value), "byte"), "by "+a.Tool, fmt.Sprintf("version %d", a.Version))
	}
	t.Write(w)
}

// Artifact renders an artifact: text as it is, escaped on a terminal, all else as
// JSON.
func Artifact(s *kit.Screen, a executor.Artifact) error {
	var text string
	if json.Unmarshal(a.Value, &text) != nil {
		return kit.JSON(s, a.Value)
	}
	if s.IsTerminal() {
		text = kit.Sanitize(text)
	}
	fmt.Fprintln(s, strings.TrimSuffix(text, "\n"))
	return nil
}
