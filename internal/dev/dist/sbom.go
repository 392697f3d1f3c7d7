package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The parts of a program in the format CycloneDX 1.6, as far as a Go program knows
// them of itself.
type (
	bom struct {
		Format     string      `json:"bomFormat"`
		Spec       string      `json:"specVersion"`
		Version    int         `json:"version"`
		Metadata   metadata    `json:"metadata"`
		Components []component `json:"components"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		PURL       string     `json:"purl,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

// sbom lists the modules that a program was linked from, by its own account, with
// the sums that go.sum has of them, and what lock, the package-lock.json of the page, has of what the
// page is built from.
func sbom(program []byte, version string, at time.Time, lock []byte) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("what the program is made of: %w", err)
	}
	main := component{Type: "application", Ref: info.Main.Path, Name: info.Main.Path, Version: version}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" || s.Key == "-ldflags" {
			main.Properties = append(main.Properties, property{"go:" + s.Key, s.Value})
		}
	}
	list := []component{{Type: "library", Ref: "std", Name: "std", Version: info.GoVersion, PURL: "pkg:golang/std@" + info.GoVersion}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version}
		c.Ref = c.PURL
		if m.Sum != "" {
			c.Properties = []property{{"go:sum", m.Sum}}
		}
		list = append(list, c)
	}
	var page struct {
		Packages map[string]struct {
			Version, Integrity string
			Dev, DevOptional   bool
		}
	}
	if err := json.Unmarshal(lock, &page); err != nil {
		return nil, fmt.Errorf("what the page is made of: %w", err)
	}
	for _, at := range slices.Sorted(maps.Keys(page.Packages)) {
		name, is := strings.CutPrefix(at, "node_modules/")
		p := page.Packages[at]
		if !is || p.Dev || p.DevOptional {
			continue
		}
		purl := "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version
		list = append(list, component{"library", purl, name, p.Version, purl, []property{{"npm:integrity", p.Integrity}}})
	}
	return json.MarshalIndent(bom{"CycloneDX", "1.6", 1, metadata{at.Format(time.RFC3339), main}, list}, "", "  ")
}
