package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Each key of the file is a setting, with its default where it has one; what may be
// secret is not shown.
func TestSettings(t *testing.T) {
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, file := range []string{"", string(full), "ollama: {keep_alive: 5m}\nconventions: {bytes: 10}\nlimits: {time: 1h}\n"} {
		c, err := load(file, map[string]string{"ADROIT_MODE": "plan"}, Flags{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.Settings() {
			if strings.HasPrefix(s.From, "built in") {
				continue // prices, which change
			}
			fmt.Fprintf(&got, "%s: %q (%s)\n", s.Key, s.Value, s.From)
		}
		got.WriteString("\n")
	}
	dirtest.Golden(t, *update, "testdata/settings.txt", []byte(got.String()))
}
