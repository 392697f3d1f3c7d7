package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

// weather is all of a part: what lies here would be its folder.
var weather = adroit.Part{
	Name: "weather", About: "Tell the weather.", Section: func() adroit.Section { return &weatherSection{} },
	Examine: func(context.Context) []adroit.Finding {
		return []adroit.Finding{{Name: "barometer", Status: adroit.Fine, What: "1013 hPa"}}
	},
}

type weatherSection struct {
	Unit   string            `yaml:"unit"`
	KeyEnv string            `yaml:"key_env"`
	Places map[string]string `yaml:"places"`
	Days   int               `yaml:"days" least:"1"`
}

func (*weatherSection) Key() string { return "weather" }

func (*weatherSection) Settings() []adroit.PartSetting {
	return []adroit.PartSetting{{Key: "unit", About: "`celsius` or `kelvin`", Default: "celsius"}, {Key: "key_env", About: "The key"}, {Key: "places.NAME", About: "Where"}, {Key: "days", About: "How far ahead"}}
}

func (s *weatherSection) Check(fault func(err error, hint string, keys ...string)) {
	if s.Unit != "" && s.Unit != "celsius" && s.Unit != "kelvin" {
		fault(errors.New("weather.unit is "+s.Unit), "it is celsius or kelvin", "unit")
	}
}

func (s *weatherSection) Secrets() []string { return []string{s.KeyEnv} }

func (s *weatherSection) Tools(h adroit.PartHost) []tools.Tool {
	m := tools.Metadata{Name: "forecast", Category: "research", Description: "Tell the weather in " + s.Unit + "."}
	return []tools.Tool{tools.New(m, func(context.Context, *tools.Env, struct{}) (string, error) { return "Rain.", nil })}
}

// A part touches its own folder and the list of the program: its setting is read, checked,
// shown and set as those of the core are, its tool is offered, and doctor has its line.
func TestWeather(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "config.yaml")
	vars := map[string]string{"HOME": home, "ADROIT_CONFIG": file, "ADROIT_HOME": filepath.Join(home, "data"), "SKY": "blue-sky-and-no-cloud-4711"}
	for _, c := range []struct {
		config, args string
		want         string
	}{
		{"weather: {unit: kelvin, places: {home: Graz}}\n", "config show", "weather.places.home"},
		{"model: a/b\n", "config show", "weather.unit"}, // a default
		{"weather: {unit: kelvin}\n", "tools show forecast", "Tell the weather in kelvin."},
		{"weather: {unit: kelvin}\n", "doctor --all", "1013 hPa"},
		{"# one\nweather:\n  unit: rankine\n", "config show", file + ":3: weather.unit is rankine"},
		{"weather:\n  unti: kelvin\n", "config show", file + ":2: unknown key weather.unti"},
		{"weather: {unti: kelvin}\n", "config show", "did you mean unit?"},
		{"weather:\n  days: many\n", "config show", file + ":2: weather.days: it must be"},
		{"weather:\n  days: 0\n", "config show", "at least 1"},
		{"wether: {unit: kelvin}\n", "config show", "did you mean weather?"},
		{"weather: 5\n", "config show", file + ":1: weather: it must be"},
		{"transcription: {sever: openai}\n", "doctor --all", "1013 hPa"}, // with faults, too
		{"# mine\nmodel: a/b\n", "config set weather.unit kelvin", ""},
		{"", "config set weather.unit rankine", "weather.unit is rankine"},
		{"", "config set weather.unti kelvin", `did you mean "weather.unit"?`},
		{"transcription: {url: http://a.example}\n", "-config show", "a setting of the part podcast, which this program does not have"},
	} {
		with := append(parts.All(), weather)
		if args, alone := strings.CutPrefix(c.args, "-"); alone {
			c.args, with = args, []adroit.Part{weather}
		}
		if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		cli.Program{Parts: with, Stdout: &out, Stderr: &out, Getenv: func(k string) string { return vars[k] }}.Run(t.Context(), strings.Fields(c.args)...)
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%q, %s: no %q in\n%s", c.config, c.args, c.want, out.String())
		}
		if b, err := os.ReadFile(file); c.want == "" && (err != nil || string(b) != c.config+"weather:\n  unit: kelvin\n") {
			t.Errorf("%s makes %q, %v", c.args, b, err)
		}
	}
}
