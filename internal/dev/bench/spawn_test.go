package bench

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// BenchmarkSpawn measures the cost of a command that does nothing, at each level, and with os/exec
// in the same run.
func BenchmarkSpawn(b *testing.B) {
	const rounds = 40
	median := func(b *testing.B, do func() error) time.Duration {
		took := make([]time.Duration, rounds)
		for i := range took {
			began := time.Now()
			if err := do(); err != nil {
				b.Fatal(err)
			}
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		return took[rounds/2]
	}
	for _, level := range []sandbox.Level{sandbox.Off, sandbox.Landlock, sandbox.Bubblewrap, sandbox.Full} {
		b.Run(string(level), func(b *testing.B) {
			if r := sandbox.Choose(level); r.Err() != nil {
				b.Skip(r.Err())
			}
			r := process.New(b.TempDir(), "", nil, process.WithSandbox(process.SandboxOptions{Level: level, Private: b.TempDir()}))
			defer r.Close()
			for b.Loop() {
				plain := median(b, func() error { return exec.Command("true").Run() })
				ours := median(b, func() error {
					_, err := r.Run(b.Context(), process.Cmd{Args: []string{"true"}})
					return err
				})
				b.ReportMetric(float64(ours.Microseconds())/1000, "ms/spawn")
				b.ReportMetric(float64(ours)/float64(plain), "x-plain")
			}
		})
	}
}
