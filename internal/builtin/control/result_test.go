package control_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

func TestResultConforms(t *testing.T) { toolstest.Check(t, control.ReadResult) }

type kept map[string]string

func (k kept) Result(id string) (string, error) {
	s, ok := k[id]
	if !ok {
		return "", fs.ErrNotExist
	}
	return s, nil
}

func TestRead(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "line %d of it\n", i+1)
	}
	env := &tools.Env{Result: kept{"a": b.String(), "b": `{"x":"` + strings.Repeat("é", 3000) + `"}`}.Result, MaxResultBytes: 2000}
	for _, c := range []struct {
		env        *tools.Env
		args, want string
		failed     bool
	}{
		{env, `{"id":"a","from":500,"lines":2}`, "500\tline 500 of it\n501\tline 501 of it\n[1000 lines in all; go on with from=502]\n", false},
		{env, `{"id":"a","from":999}`, "999\tline 999 of it\n1000\tline 1000 of it\n", false},
		{env, `{"id":"a","search":"line 77. "}`, "770\tline 770 of it\n", false},
		{env, `{"id":"a","search":"line 9 ("}`, "No line", false},
		{env, `{"id":"a","from":1001}`, "has 1000 lines", true},
		{env, `{"id":"b","from":8}`, "\"}\n", false},
		{env, `{"id":"c"}`, "there is no result", true},
		{new(tools.Env), `{"id":"a"}`, "nothing is kept", true},
	} {
		r, err := control.ReadResult.Run(t.Context(), c.env, json.RawMessage(c.args))
		if err != nil || r.Failed != c.failed || !strings.Contains(r.Text, c.want) {
			t.Errorf("%s: %+v, %v; want %q", c.args, r, err, c.want)
		}
		if len(r.Text) > 2000 {
			t.Errorf("%s: %d bytes are shown, 2000 fit", c.args, len(r.Text))
		}
	}
	// Page by page, all of it comes and nothing twice.
	var got strings.Builder
	for from, pages := 1, 0; from > 0; pages++ {
		r, err := control.ReadResult.Run(t.Context(), env, fmt.Appendf(nil, `{"id":"a","from":%d}`, from))
		if err != nil || pages > 100 {
			t.Fatal(err, pages)
		}
		from = 0
		for line := range strings.Lines(r.Text) {
			if _, text, ok := strings.Cut(line, "\t"); ok {
				got.WriteString(text)
			} else if _, err := fmt.Sscanf(line, "[1000 lines in all; go on with from=%d]", &from); err != nil {
				t.Fatal(line)
			}
		}
	}
	if got.String() != b.String() {
		t.Error("the pages are not the whole")
	}
}
