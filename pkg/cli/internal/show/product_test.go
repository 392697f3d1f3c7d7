package show

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/executor"
)

// What a run produced is on the screen: findings, a triage, a text, all else by name.
func TestProduct(t *testing.T) {
	var out bytes.Buffer
	s := &kit.Screen{Writer: &out, Cols: 60}
	Product(s, &adroit.ArtifactList{Job: "J1", Artifacts: map[string]executor.Artifact{
		"findings": {Value: json.RawMessage(`[{"file":"cart.go","line":41,"severity":"major","title":"Totals are rounded per line, which is a cent off now and then","suggestion":"Round once."}]`)},
		"triage":   {Value: json.RawMessage(`{"kind":"bug","severity":"minor","area":"cart","confidence":"high","next_step":"Round once.","files":[{"path":"cart.go","reason":"it rounds"}]}`)},
		"content":  {Value: json.RawMessage(`"# Title\n` + strings.Repeat(`line\n`, maxProductLines+4) + `"`)},
		"other":    {Value: json.RawMessage(`{"a":1}`)},
		"diff":     {Value: json.RawMessage(`"x"`)},
	}}, "")
	golden(t, "product", out.Bytes())
	out.Reset()
	Product(s, &adroit.ArtifactList{Job: "J1", Artifacts: map[string]executor.Artifact{"findings": {Value: json.RawMessage(`[]`)}, "content": {Value: json.RawMessage(`"The same."`)}}}, "The same.")
	if got := out.String(); got != "no findings\n" {
		t.Errorf("%q", got)
	}
}
