package process_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A job edits a file, runs a command, shows the difference and takes it back.
func Example() {
	if err := job(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// modified greeting.txt
	// created made.txt
	// 1 restored, 0 removed, 1 left alone
}

func job(ctx context.Context) error {
	base, err := os.MkdirTemp("", "example-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	dir := filepath.Join(base, "work")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "greeting.txt"), []byte("hello\r\n"), 0o644); err != nil {
		return err
	}

	led, err := ledger.Open(filepath.Join(base, "ledger"), overlay.Recover)
	if err != nil {
		return err
	}
	defer led.Close()
	files, err := workspace.Open(dir, led)
	if err != nil {
		return err
	}
	defer files.Close()
	text, err := files.ReadText("greeting.txt")
	if err != nil {
		return err
	}
	text.Content = strings.Replace(text.Content, "hello", "good day", 1)
	if err := files.WriteText("greeting.txt", text); err != nil {
		return err
	}

	run := process.New(dir, filepath.Join(base, "logs"), led)
	defer run.Close()
	if _, err := run.Run(ctx, process.Cmd{Shell: "echo new > made.txt", Snapshot: true}); err != nil {
		return err
	}

	changes, err := led.Changes(context.Background())
	if err != nil {
		return err
	}
	for _, c := range changes {
		fmt.Println(c.Kind, c.Path)
	}
	report, err := led.Undo(context.Background(), dir)
	fmt.Printf("%d restored, %d removed, %d left alone\n", len(report.Restored), len(report.Removed), len(report.Skipped))
	return err
}
