package control_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

func TestConforms(t *testing.T) { toolstest.Check(t, control.Finish) }

func TestFinish(t *testing.T) {
	for _, c := range []struct {
		args, text string
		failed     bool
	}{
		{`{"summary":"Done."}`, "Done.", false},
		{`{"summary":"Done.","evidence":"14 tests pass"}`, "Done.\nEvidence: 14 tests pass", false},
		{`{"summary":"  "}`, "finished", false},
		{`{}`, "finished", false},
	} {
		r, err := control.Finish.Run(context.Background(), nil, json.RawMessage(c.args))
		if err != nil || r.Text != c.text || r.Failed != c.failed {
			t.Errorf("%s: %+v, %v", c.args, r, err)
		}
	}
}
