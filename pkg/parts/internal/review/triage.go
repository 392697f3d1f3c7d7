package review

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
)

// triagedItem is the input of report_triage and the artifact "triage".
type triagedItem struct {
	Kind         string        `json:"kind" jsonschema:"enum=bug,enum=regression,enum=test_failure,enum=build_failure,enum=environment,enum=security,enum=feature,enum=question,enum=duplicate,enum=unclear,description=What it is"`
	Severity     string        `json:"severity" jsonschema:"enum=critical,enum=major,enum=minor,enum=nit,description=How bad it is for users"`
	Area         string        `json:"area" jsonschema:"minLength=1,description=The part of the project concerned"`
	Files        []likelyCause `json:"files" jsonschema:"maxItems=30,description=Where the cause likely is, likeliest first; may be empty"`
	Reproduction string        `json:"reproduction" jsonschema:"description=How to see it, as steps or a command; empty if not known"`
	NextStep     string        `json:"next_step" jsonschema:"minLength=1,description=What to do next and who can"`
	Confidence   string        `json:"confidence" jsonschema:"enum=high,enum=medium,enum=low,description=How sure you are"`
}

// likelyCause is a file and why it is suspected.
type likelyCause struct {
	Path   string `json:"path" jsonschema:"description=Relative to the workspace"`
	Reason string `json:"reason" jsonschema:"minLength=1,description=What points to it"`
}

// Triage is the tool report_triage. A second call replaces the first.
var Triage = tools.New(tools.Metadata{
	Name: "report_triage", Category: "code", Needs: tools.Read, Produces: []string{"triage"},
	Examples: []tools.Example{{Note: "a bug", Args: json.RawMessage(`{"kind":"bug","severity":"major","area":"cart","files":[{"path":"cart.go","reason":"Total rounds per line"}],"reproduction":"go test -run TestTotal","next_step":"Round once per cart and add a test.","confidence":"high"}`)}},
}.ProseIn(descriptions), triage)

func triage(_ context.Context, env *tools.Env, in triagedItem) (tools.Result, error) {
	if strings.TrimSpace(in.Area) == "" || strings.TrimSpace(in.NextStep) == "" {
		return tools.Result{}, errors.New("area and next_step are not empty: say which part of the project it concerns and what to do next")
	}
	var faults []string
	for i := range in.Files {
		f := &in.Files[i]
		f.Path = strings.TrimPrefix(strings.TrimPrefix(f.Path, env.Files.Dir()+"/"), "./")
		if _, err := env.Files.Stat(f.Path); err != nil {
			faults = append(faults, fmt.Sprintf("files/%d: %v", i, err))
		}
	}
	if faults != nil {
		return tools.Result{}, fmt.Errorf("nothing was reported:\n- %s\nName files that exist, or none", strings.Join(faults, "\n- "))
	}
	if in.Files == nil {
		in.Files = []likelyCause{}
	}
	sum := fmt.Sprintf("%s %s in %s, confidence %s", in.Severity, in.Kind, in.Area, in.Confidence)
	return turn.Bind(tools.Result{Text: sum + "\nNext: " + in.NextStep, Summary: sum}, "triage", in)
}
