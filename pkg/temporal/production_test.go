package temporal

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/parts"
)

const deployment = "../../configs/temporal/"

// A service is what this test reads of compose.yaml. Unknown fields are not refused here: the
// program that reads the file has hundreds.
type service struct {
	Image, Command, Entrypoint, Hostname any
	Environment                          map[string]string
	Volumes, Ports                       []string
	Grace                                string         `yaml:"stop_grace_period"`
	DependsOn                            map[string]any `yaml:"depends_on"`
}

func (s service) list(v any) (out []string) {
	for _, e := range v.([]any) {
		out = append(out, e.(string))
	}
	return out
}

func readDeployment(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(deployment + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// connectsTo runs adroit with arguments, and returns the address of the cluster that it would use.
func connectsTo(t *testing.T, env map[string]string, args ...string) (address string) {
	t.Helper()
	var out bytes.Buffer
	env["HOME"] = t.TempDir()
	p := cli.Program{Parts: parts.All(), Stdout: &out, Stderr: &out, Getenv: func(name string) string { return env[name] }, Worker: Commands,
		Engine: func(_ context.Context, at config.Temporal) (cli.Engine, error) {
			address = at.Address
			return nil, errors.New("reached")
		}}
	if p.Run(t.Context(), args...); !strings.Contains(out.String(), "reached") {
		t.Errorf("adroit %q connects to nothing: %s", args, &out)
	}
	return address
}

// TestCompose holds compose.yaml, and what it mounts, against the commands and settings there are.
func TestCompose(t *testing.T) {
	var file struct {
		Services map[string]service
		Volumes  map[string]any
	}
	if err := yaml.Unmarshal([]byte(readDeployment(t, "compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	image := readDeployment(t, "Dockerfile")
	workers := 0
	for _, name := range slices.Sorted(maps.Keys(file.Services)) {
		s := file.Services[name]
		for on := range s.DependsOn {
			if _, ok := file.Services[on]; !ok {
				t.Errorf("%s depends on %s, which is not there", name, on)
			}
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if strings.HasPrefix(from, "./") {
				readDeployment(t, from)
			} else if _, ok := file.Volumes[from]; !ok && !strings.HasPrefix(from, "${") {
				t.Errorf("%s mounts the volume %s, which is not there", name, from)
			}
		}
		if s.Image != "adroit-worker" {
			continue
		}
		workers++
		if got := connectsTo(t, s.Environment, s.list(s.Command)...); got != "temporal:7233" {
			t.Errorf("%s connects to %s", name, got)
		}
		if d, err := time.ParseDuration(s.Grace); err != nil || d <= drainTime {
			t.Errorf("%s is killed after %q, and drains for %s", name, s.Grace, drainTime)
		}
		if s.Hostname != name || !slices.Contains(s.Volumes, name+":/home/adroit") || !strings.Contains(image, "useradd --create-home --uid 1000 adroit") {
			t.Errorf("%s has no hostname or data directory of its own: %+v", name, s)
		}
	}
	if workers != 2 || !strings.Contains(image, `ENTRYPOINT ["adroit"]`) {
		t.Errorf("there are %d workers, with the image\n%s", workers, image)
	}
	server := file.Services["temporal"]
	findsServer(t, server.list(server.Entrypoint), server.Volumes[0], func(name string) bool { return server.Environment[name] != "" })
	if !slices.Contains(server.Ports, "127.0.0.1:7233:7233") {
		t.Errorf("the server listens at %v", server.Ports)
	}
}

// findsServer holds how a server is started against server.yaml: the file is where it is looked for, has
// the port of adroit's default, and what it takes from the environment is set.
func findsServer(t *testing.T, args []string, mount string, set func(string) bool) {
	t.Helper()
	text := readDeployment(t, "server.yaml")
	flag := func(name string) string {
		i := slices.Index(args, name)
		if i < 0 || i+1 == len(args) {
			t.Fatalf("%q has no %s", args, name)
		}
		return args[i+1]
	}
	if _, at, _ := strings.Cut(mount, ":"); path.Join(flag("--root"), flag("--config"), flag("--env")+".yaml") != strings.TrimSuffix(at, ":ro") {
		t.Errorf("%q does not find %s", args, at)
	}
	if args[len(args)-1] != "start" {
		t.Errorf("%q does not start it", args)
	}
	if first, _, _ := strings.Cut(text, "\n"); !strings.HasPrefix(first, "# enable-template") {
		t.Error("the server would read its configuration as it is, without the environment")
	}
	names := regexp.MustCompile(`\{\{ env "(\w+)"( \| default "[^"]*")? \| quote \}\}`)
	taken := names.FindAllStringSubmatch(text, -1)
	for _, m := range taken {
		if m[2] == "" && !set(m[1]) {
			t.Errorf("%s is not set", m[1])
		}
	}
	var c struct {
		Services map[string]any
	}
	if err := yaml.Unmarshal([]byte(names.ReplaceAllString(text, `"$1"`)), &c); err != nil || len(taken) < 3 || len(c.Services) != 4 {
		t.Errorf("%v, %+v", err, c)
	}
	if !strings.Contains(text, "grpcPort: 7233") || connectsTo(t, map[string]string{}, "worker") != "127.0.0.1:7233" {
		t.Error("the server has another port than adroit's default")
	}
}

// unit reads a unit of systemd: its settings by name.
func unit(t *testing.T, name string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(readDeployment(t, name)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			out[key] = value
		}
	}
	return out
}

// TestUnits holds the units of systemd against the commands and settings there are.
func TestUnits(t *testing.T) {
	w := unit(t, "adroit-worker.service")
	args := strings.Fields(w["ExecStart"])
	if connectsTo(t, map[string]string{"TEMPORAL_ADDRESS": "there:7233"}, args[1:]...) != "there:7233" {
		t.Errorf("the worker does not read its environment: %v", w)
	}
	if d, err := time.ParseDuration(w["TimeoutStopSec"] + "s"); err != nil || d <= drainTime || w["KillMode"] != "mixed" {
		t.Errorf("the worker and its commands do not end by themselves: %v", w)
	}
	s := unit(t, "temporal-server.service")
	text := readDeployment(t, "temporal-server.service")
	findsServer(t, strings.Fields(s["ExecStart"]), "server.yaml:/etc/temporal/server.yaml", func(name string) bool { return strings.Contains(text, "# "+name+"=") })
	t.Run("verify", func(t *testing.T) {
		testenv.NeedsProgram(t, "systemd-analyze")
		dir := t.TempDir()
		verify := func(name, text string) string {
			file := filepath.Join(dir, name)
			program := regexp.MustCompile(`(?m)^ExecStart=\S+`)
			if err := os.WriteFile(file, []byte(program.ReplaceAllString(text, "ExecStart=/bin/true")), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("systemd-analyze", "verify", file).CombinedOutput()
			if err != nil {
				return err.Error() + string(out)
			}
			return string(out)
		}
		for _, name := range []string{"adroit-worker.service", "temporal-server.service"} {
			text := readDeployment(t, name)
			if out := verify(name, text); strings.Contains(out, name) {
				t.Errorf("%s: %s", name, out)
			}
			if out := verify("bad-"+name, strings.Replace(text, "Restart=", "Rerun=", 1)); !strings.Contains(out, "Rerun") {
				t.Errorf("systemd-analyze sees nothing: %s", out)
			}
		}
	})
}
