package unixonly

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What a build for Windows cannot compile is never reached: each package that calls the
// system by names that Windows lacks stands above this one.
func TestWindowsMeetsOneSentence(t *testing.T) {
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}}|{{.Dir}}|{{join .GoFiles ","}}|{{join .Deps ","}}`, "./internal/...", "./pkg/...", "./cmd/...")
	cmd.Dir = "../../.."
	cmd.Env = append(os.Environ(), "GOOS=windows")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	lacks := regexp.MustCompile(`syscall\.(Stat_t|Kill|SIG(USR1|USR2|STOP|CONT|TSTP|WINCH|CHLD)|Statfs|Flock|LOCK_|O_NOFOLLOW|O_NONBLOCK|O_DIRECTORY|Umask|Mkfifo|Getpgid|Wait4|Rlimit|Getrlimit)\b|\bunix\.[A-Z]`)
	seen := 0
	for line := range strings.Lines(string(out)) {
		part := strings.Split(strings.TrimSpace(line), "|")
		if len(part) != 4 {
			t.Fatalf("go list prints %q", line)
		}
		seen++
		if strings.Contains(part[3], "internal/system/unixonly") || strings.HasSuffix(part[0], "internal/system/unixonly") {
			continue
		}
		for name := range strings.SplitSeq(part[2], ",") {
			if name == "" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(part[1], name))
			if err != nil {
				t.Fatal(err)
			}
			if call := lacks.Find(text); call != nil {
				t.Errorf("%s/%s has %s, which Windows lacks: import internal/system/unixonly", part[0], name, call)
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d packages: is this the repository?", seen)
	}
}
