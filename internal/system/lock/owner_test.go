package lock

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestGone(t *testing.T) {
	if Gone(Name()) {
		t.Error("this process is said to be gone")
	}
	host, _, _ := strings.Cut(Name(), ":")
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Skip("no sleep command here")
	}
	owner := fmt.Sprintf("%s:%d:%s", host, sleeper.Process.Pid, started(sleeper.Process.Pid))
	if Gone(owner) {
		t.Errorf("%s is said to be gone", owner)
	}
	reused := fmt.Sprintf("%s:%d:1@%s", host, sleeper.Process.Pid, space())
	if started(os.Getpid()) != "" && !Gone(reused) {
		t.Errorf("%s, whose pid another process has now, is said to run", reused)
	}
	if elsewhere := fmt.Sprintf("%s-other:%d:1", host, sleeper.Process.Pid); Gone(elsewhere) {
		t.Errorf("%s on another host is said to be gone", elsewhere)
	}
	if err := sleeper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = sleeper.Wait()
	if !Gone(owner) {
		t.Errorf("%s was killed and is said to run", owner)
	}
}
