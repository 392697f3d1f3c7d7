package flowtest_test

import (
	"encoding/json"
	"testing"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/flow/flowtest"
)

func memory(testing.TB) flowtest.Harness {
	j := new(flow.Memory)
	return flowtest.Harness{
		Run: func(t testing.TB, q flowtest.Request) (json.RawMessage, error) { return flowtest.Local(j, q) },
		Send: func(t testing.TB, job string, sig flow.Signal) {
			if err := j.Send(t.Context(), job, sig); err != nil {
				t.Error(err)
			}
		},
	}
}

func TestMemory(t *testing.T) { flowtest.Run(t, memory) }

func TestMemoryKilled(t *testing.T) { flowtest.Differ(t, 300, memory, memory) }
