package review

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func TestConforms(t *testing.T) { toolstest.Check(t, Findings, Triage, Check) }

func env(t *testing.T) *tools.Env {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.go": "1\n2\n3\n", "empty.go": "", ".env": "KEY=secret\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	return &tools.Env{Files: files}
}

func finding(severity, file string, line int) reviewFinding {
	return reviewFinding{Severity: severity, Category: "tests", File: file, Line: line, Title: "t", Detail: "d"}
}

func TestFindings(t *testing.T) {
	e := env(t)
	for _, c := range []struct {
		name  string
		in    findingsInput
		wants string // of a refusal; empty: it is taken
	}{
		{"none", findingsInput{Summary: "Fine."}, ""},
		{"last line", findingsInput{Summary: "x", Findings: []reviewFinding{finding("nit", "a.go", 3)}}, ""},
		{"empty file", findingsInput{Summary: "x", Findings: []reviewFinding{finding("nit", "empty.go", 1)}}, ""},
		{"no category", findingsInput{Summary: "x", Findings: []reviewFinding{{Severity: "nit", File: "a.go", Line: 1, Title: "t", Detail: "d"}}}, ""},
		{"past the end", findingsInput{Summary: "x", Findings: []reviewFinding{finding("nit", "a.go", 4)}}, "a.go has 3 lines, there is no line 4"},
		{"no file", findingsInput{Summary: "x", Findings: []reviewFinding{finding("nit", "b.go", 1)}}, "findings/0: "},
		{"a secret", findingsInput{Summary: "x", Findings: []reviewFinding{finding("nit", ".env", 1)}}, "findings/0: "},
		{"outside", findingsInput{Summary: "x", Findings: []reviewFinding{finding("nit", "../a.go", 1)}}, "findings/0: "},
		{"severity", findingsInput{Summary: "x", Findings: []reviewFinding{finding("bad", "a.go", 1)}}, "severity"},
		{"no summary", findingsInput{Summary: " "}, "summary is empty"},
	} {
		args, err := json.Marshal(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if c.in.Findings == nil {
			args = []byte(strings.Replace(string(args), "null", "[]", 1))
		}
		r, err := Findings.Run(t.Context(), e, args)
		if err != nil {
			t.Fatal(err)
		}
		if r.Failed != (c.wants != "") || !strings.Contains(r.Text, c.wants) {
			t.Errorf("%s: %+v, want %q", c.name, r, c.wants)
		}
		if r.Failed && r.Artifacts != nil {
			t.Errorf("%s: refused, but reported %s", c.name, r.Artifacts)
		}
	}
}

type artifacts map[string]json.RawMessage

func (a artifacts) Value(name string) json.RawMessage { return a[name] }
func (a artifacts) Names() []string                   { return nil }

// What is at a place that exists is kept, and the rest can be added.
func TestFindingsInParts(t *testing.T) {
	e := env(t)
	report := func(in findingsInput) tools.Result {
		t.Helper()
		args, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Findings.Run(t.Context(), e, args)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := report(findingsInput{Summary: "x", Findings: []reviewFinding{finding("nit", "a.go", 1), finding("major", "a.go", 9)}})
	if !r.Failed || !strings.Contains(r.Text, "Reported: 1 finding: 1 nit.") || !strings.Contains(r.Text, "there is no line 9") || !strings.Contains(r.Text, "with add") {
		t.Errorf("%+v", r)
	}
	e.Artifacts = artifacts(r.Artifacts)
	r = report(findingsInput{Summary: "x", Findings: []reviewFinding{finding("major", "a.go", 3)}, Add: true})
	if r.Failed || r.Summary != "2 findings: 1 major, 1 nit" {
		t.Errorf("%+v", r)
	}
}

// The artifact is sorted by how bad, then by place, and names files as the
// workspace does.
func TestOrder(t *testing.T) {
	e := env(t)
	args, err := json.Marshal(findingsInput{Summary: "x", Findings: []reviewFinding{
		finding("nit", "a.go", 1), finding("major", "a.go", 3), finding("major", e.Files.Dir()+"/a.go", 2), finding("critical", "./empty.go", 1),
	}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Findings.Run(t.Context(), e, args)
	if err != nil || r.Failed {
		t.Fatal(r, err)
	}
	var got []reviewFinding
	if err := json.Unmarshal(r.Artifacts["findings"], &got); err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, f := range got {
		places = append(places, f.Severity+" "+f.File)
	}
	if s := strings.Join(places, ", "); s != "critical empty.go, major a.go, major a.go, nit a.go" || got[1].Line != 2 {
		t.Errorf("got %s", s)
	}
	if r.Summary != "4 findings: 1 critical, 2 major, 1 nit" {
		t.Errorf("summary %q", r.Summary)
	}
}

func TestTriage(t *testing.T) {
	e := env(t)
	for path, taken := range map[string]bool{"a.go": true, "gone.go": false, "../x": false} {
		args, err := json.Marshal(triagedItem{Kind: "bug", Severity: "minor", Area: "x", Files: []likelyCause{{Path: path, Reason: "r"}}, NextStep: "fix", Confidence: "low"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Triage.Run(t.Context(), e, args)
		if err != nil || r.Failed == taken {
			t.Errorf("%s: %+v, %v", path, r, err)
		}
		if taken && !json.Valid(r.Artifacts["triage"]) {
			t.Errorf("no artifact in %+v", r)
		}
	}
}
