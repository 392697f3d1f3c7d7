// Flowvet reports what makes workflow code run otherwise when it is replayed.
//
//	go vet -vettool=$(which flowvet) ./...
//
// flowvet ./... is short for it. See internal/dev/flowvet for what it looks for.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/adroit-run/adroit/internal/dev/flowvet"
	"github.com/adroit-run/adroit/internal/system/hostexec"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] != "help" {
		if last := args[len(args)-1]; !strings.HasPrefix(last, "-") && !strings.HasSuffix(last, ".cfg") {
			os.Exit(vet(args))
		}
	}
	unitchecker.Main(flowvet.Analyzer)
}

// vet has go vet run this program.
func vet(args []string) int {
	self, err := os.Executable()
	if err == nil {
		cmd := hostexec.Command(context.Background(), "go", append([]string{"vet", "-vettool=" + self}, args...)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		err = cmd.Run()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "flowvet: %v\nflowvet: it needs the go command; install Go, or put it on PATH\n", err)
		return 1
	}
	return 0
}
