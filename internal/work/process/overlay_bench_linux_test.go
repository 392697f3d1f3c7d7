package process

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// BenchmarkOverlay compares commands with and without an overlay: 20,000 small files in a
// directory that git ignores, the same once more, which removes the first ones, and one file of
// 500 MB. x-compared is the ratio of the time to that of a command whose files are compared.
func BenchmarkOverlay(b *testing.B) {
	const small = `rm -rf node_modules; mkdir -p node_modules/tmp; cd node_modules; for i in $(seq 200); do mkdir p$i; for j in $(seq 100); do echo $i $j >p$i/f$j; done; done`
	for _, c := range []struct{ name, first, script string }{
		{"nothing", "true", "true"},
		{"20000", "true", small},
		{"20000 again", small, small},
		{"500 MB", "true", "head -c 500000000 /dev/zero >node_modules/large"},
	} {
		b.Run(c.name, func(b *testing.B) {
			took := map[bool]time.Duration{}
			for range b.N {
				for _, collected := range []bool{true, false} {
					took[collected] += timed(b, collected, c.first, c.script)
				}
			}
			b.ReportMetric(took[true].Seconds()/took[false].Seconds(), "x-compared")
		})
	}
}

func timed(b *testing.B, collected bool, first, script string) time.Duration {
	base := b.TempDir()
	dir := filepath.Join(base, "ws")
	for _, err := range []error{os.MkdirAll(filepath.Join(dir, "node_modules"), 0o755), os.WriteFile(filepath.Join(dir, "f"), nil, 0o644)} {
		if err != nil {
			b.Fatal(err)
		}
	}
	if !collected {
		if err := os.Link(filepath.Join(dir, "f"), filepath.Join(dir, "g")); err != nil { // such a tree has none
			b.Fatal(err)
		}
	}
	led, err := ledger.Open(filepath.Join(base, "ledger"), overlay.Recover)
	if err != nil {
		b.Fatal(err)
	}
	defer led.Close()
	r := New(dir, "", led, WithSandbox(SandboxOptions{Level: sandbox.Full, Private: filepath.Join(base, "private")}))
	defer r.Close()
	var began time.Time
	for _, s := range []string{first, script} {
		began = time.Now()
		o, err := r.Run(b.Context(), Cmd{Shell: s, Snapshot: true})
		if err != nil || o.Code != 0 || o.Note != "" {
			b.Fatal(o, err)
		}
	}
	return time.Since(began)
}
