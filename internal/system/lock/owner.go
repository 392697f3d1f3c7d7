package lock

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Name names this process in leases: host:pid:start, where start distinguishes
// it from an earlier process with the same pid.
func Name() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%d:%s", strings.ReplaceAll(host, ":", "-"), os.Getpid(), started(os.Getpid()))
}

// Gone reports that the process of an owner certainly does not run any more. It
// understands host:pid too, without protection from reused pids.
func Gone(owner string) bool {
	mine := strings.Split(Name(), ":")
	parts := strings.Split(owner, ":")
	if len(parts) < 2 || parts[0] != mine[0] {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid <= 0 {
		return false
	}
	if len(parts) < 3 {
		return !exists(pid)
	}
	// Another pid namespace has other pids: nothing can be said.
	if _, ns, _ := strings.Cut(parts[2], "@"); ns != space() {
		return false
	}
	return !exists(pid) || started(pid) != parts[2]
}
