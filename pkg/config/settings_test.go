package config

import (
	"flag"
	"fmt"
	"os"
	"slices"
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

// A variable that a section names has a value that is shown nowhere.
func TestSectionsNameTheirSecrets(t *testing.T) {
	file, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := load(strings.Replace(string(file), "base_url: http://", "base_url: http://me:pa-ss@", 1), nil, Flags{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, s := range c.Settings() {
		if strings.Contains(s.Value, "pa-ss") {
			t.Errorf("%s is %s", s.Key, s.Value)
		}
		key, _, _ := strings.Cut(s.Key, ".")
		if section := c.Sections.of(key); section != nil && strings.HasSuffix(s.Key, "_env") {
			seen++
			if !slices.Contains(section.Secrets(), s.Value) {
				t.Errorf("%s is %s, which is none of %q", s.Key, s.Value, section.Secrets())
			}
		}
	}
	if seen < 6 {
		t.Errorf("only %d variables are named", seen)
	}
}
