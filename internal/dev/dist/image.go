package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// installScript downloads an archive, verifies its checksum and puts the program in place.
//
//go:embed install.sh
var installScript string

// A descriptor refers to a blob of an image, as the OCI image specification has it.
type descriptor struct {
	MediaType string            `json:"mediaType"`
	Digest    string            `json:"digest"`
	Size      int               `json:"size"`
	Platform  map[string]string `json:"platform,omitempty"`
}

// image is an OCI image layout as a tar, for all of the programs by architecture: nothing but the
// program, to be copied into an image that has a shell, git and what a project needs.
func (d *dist) image(programs map[string][]byte) ([]byte, error) {
	var files []file
	blob := func(kind string, b []byte) descriptor {
		sum := fmt.Sprintf("%x", sha256.Sum256(b))
		files = append(files, file{"blobs/sha256/" + sum, b, 0o644})
		return descriptor{MediaType: "application/vnd.oci.image." + kind, Digest: "sha256:" + sum, Size: len(b)}
	}
	document := func(kind string, v any) (descriptor, error) {
		b, err := json.Marshal(v)
		return blob(kind, b), err
	}
	var manifests []descriptor
	labels := map[string]string{"org.opencontainers.image.source": homepage, "org.opencontainers.image.version": d.version, "org.opencontainers.image.licenses": "Apache-2.0"}
	for _, goarch := range slices.Sorted(maps.Keys(programs)) {
		layer, err := archive("", []file{{"usr/bin/adroit", programs[goarch], 0o755}}, d.time, d.level)
		if err != nil {
			return nil, err
		}
		var plain bytes.Buffer
		if err := pack(&plain, "", []file{{"usr/bin/adroit", programs[goarch], 0o755}}, d.time); err != nil {
			return nil, err
		}
		config, err := document("config.v1+json", map[string]any{
			"created": d.time.Format(time.RFC3339), "architecture": goarch, "os": "linux", "config": map[string]any{"Entrypoint": []string{"/usr/bin/adroit"}, "Labels": labels},
			"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(plain.Bytes()))}},
		})
		if err != nil {
			return nil, err
		}
		m, err := document("manifest.v1+json", map[string]any{
			"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": []descriptor{blob("layer.v1.tar+gzip", layer)}, "annotations": labels,
		})
		if err != nil {
			return nil, err
		}
		m.Platform = map[string]string{"os": "linux", "architecture": goarch}
		manifests = append(manifests, m)
	}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests})
	if err != nil {
		return nil, err
	}
	files = append(files, file{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644}, file{"index.json", index, 0o644})
	var b bytes.Buffer
	err = pack(&b, "", files, d.time)
	return b.Bytes(), err
}

// formula returns Homebrew's formula, "" unless there are archives of all its platforms.
func (d *dist) formula(sums map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "class Adroit < Formula\n  desc %q\n  homepage %q\n  version %q\n  license \"Apache-2.0\"\n\n", summary, homepage, strings.TrimPrefix(d.version, "v"))
	for _, os := range [][2]string{{"macos", "darwin"}, {"linux", "linux"}} {
		fmt.Fprintf(&b, "  on_%s do\n", os[0])
		for _, arch := range [][2]string{{"arm", "arm64"}, {"intel", "amd64"}} {
			name := fmt.Sprintf("adroit-%s-%s-%s.tar.gz", d.version, os[1], arch[1])
			if sums[name] == "" {
				return ""
			}
			fmt.Fprintf(&b, "    on_%s do\n      url \"%s/releases/download/%s/%s\"\n      sha256 %q\n    end\n", arch[0], homepage, d.version, name, sums[name])
		}
		b.WriteString("  end\n\n")
	}
	b.WriteString(`  def install
    bin.install "adroit"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/adroit.bash" => "adroit"
    zsh_completion.install "completions/_adroit"
    fish_completion.install "completions/adroit.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/adroit version")
  end
end
`)
	return b.String()
}
