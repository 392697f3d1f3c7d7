package workflows_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/workflows"
)

var look = agents.Input{Agent: "fanout_review", Prompt: "Review HEAD~1..HEAD."}

// Three look at the same changes at once; what two of them say of one place is
// one finding, and the gravest come first.
func TestFanoutReview(t *testing.T) {
	s, err := play(t, look,
		works("reviewer", nil, "findings", []m{finding("minor", "correctness", "a.go", 10, "Error is lost"), finding("nit", "correctness", "b.go", 1, "Unused result")}).asked("Review HEAD~1..HEAD.", "for correctness only"),
		works("reviewer", nil, "findings", []m{finding("critical", "security", "c.go", 7, "Shell built from input"), finding("major", "security", "a.go", 11, "Lost error hides a failed check")}).asked("for security only"),
		works("reviewer", nil, "findings", []m{finding("minor", "performance", "c.go", 7, "Reads the file twice")}).asked("for performance only"))
	if err != nil {
		t.Fatal(err)
	}
	res := artifact[workflows.Review](t, s, "review")
	var got []string
	for _, f := range res.Findings {
		got = append(got, fmt.Sprintf("%s %s:%d %s", f.Severity, f.File, f.Line, strings.Join(f.Found, "+")))
	}
	want := "critical c.go:7 security, major a.go:11 correctness+security, minor c.go:7 performance, nit b.go:1 correctness"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	if res.Verdict != "1 critical, 1 major, 1 minor, 1 nit" || !strings.HasPrefix(s.Outcome.Summary, res.Verdict) {
		t.Errorf("%+v, %+v", res, s.Outcome)
	}
	if list := artifact[[]workflows.Finding](t, s, "findings"); len(list) != 4 {
		t.Errorf("%+v", list)
	}
}

// A reviewer that does not get done takes nothing from the others and is
// named; if none gets done there is no review.
func TestReviewerFails(t *testing.T) {
	none := works("reviewer", nil, "findings", []m{})
	s, err := play(t, look, none, breaks("reviewer", "went in circles"), none)
	if err != nil {
		t.Fatal(err)
	}
	res := artifact[workflows.Review](t, s, "review")
	if res.Verdict != "no findings; not reviewed for security: stuck: went in circles" || res.Findings == nil || res.Reviews[1].Status != executor.Stuck {
		t.Errorf("%+v", res)
	}
	s, err = play(t, look, breaks("reviewer", "a"), breaks("reviewer", "b"), works("reviewer", nil))
	wantErr(t, err, "none of the reviews was done: correctness: stuck: a; security: stuck: b; performance: done: it reported nothing")
	if s.Value("review") != nil {
		t.Error("there is a review although none was done")
	}
}

func TestReviewFocus(t *testing.T) {
	in := look
	in.Inputs = map[string]json.RawMessage{"focus": json.RawMessage(`["tests"]`)}
	if _, err := play(t, in, works("reviewer", nil, "findings", []m{}).asked("for tests only")); err != nil {
		t.Error(err)
	}
	in.Inputs["focus"] = json.RawMessage(`"tests"`)
	_, err := play(t, in)
	wantErr(t, err, `input focus is "tests", which is no []string; a list is written as`)
	in.Inputs["focus"] = json.RawMessage(`[]`)
	_, err = play(t, in)
	wantErr(t, err, "input focus is empty")
}
