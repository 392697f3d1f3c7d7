// Command dist makes the release files of a version: for each platform an archive with the
// program, man pages, completions and a list of its components (SBOM), and the checksums of all of
// them. Two runs over the same files make the same bytes, wherever the tree lies.
//
//	go run ./internal/dev/dist -version v1.2.3 -time 1763798400 -out dist
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("dist: ")
	d := dist{tree: ".", env: []string{"CGO_ENABLED=0"}, level: gzip.BestCompression} // static
	flag.StringVar(&d.out, "out", "dist", "the directory to write to; what is in it of an earlier run is replaced")
	flag.StringVar(&d.version, "version", "", "as in v1.2.3; git describe if left out")
	seconds := flag.Int64("time", 0, "of all files, in seconds since 1970; that of the commit if left out")
	list := flag.String("platforms", platforms, "what to build for")
	flag.Parse()
	if err := d.describe(*seconds); err != nil {
		log.Fatal(err)
	}
	if err := d.run(strings.Split(*list, ",")); err != nil {
		log.Fatal(err)
	}
}

// describe takes missing options from git.
func (d *dist) describe(seconds int64) error {
	if d.version == "" {
		b, err := d.command(nil, "git", "describe", "--tags", "--always", "--dirty")
		if err != nil {
			return err
		}
		d.version = strings.TrimSpace(string(b))
	}
	if seconds == 0 {
		b, err := d.command(nil, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return err
		}
		if _, err := fmt.Sscan(string(b), &seconds); err != nil {
			return fmt.Errorf("the time of the commit: %w", err)
		}
	}
	d.time = time.Unix(seconds, 0).UTC()
	return nil
}

// run writes an archive for each platform, and their checksums.
func (d *dist) run(platforms []string) error {
	pages, err := d.manual()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.out, 0o755); err != nil {
		return err
	}
	var sums bytes.Buffer
	slices.Sort(platforms)
	for _, p := range platforms {
		goos, goarch, ok := strings.Cut(p, "/")
		if !ok {
			return fmt.Errorf("%q is no platform; one is linux/amd64", p)
		}
		name := fmt.Sprintf("adroit-%s-%s-%s", d.version, goos, goarch)
		files, err := d.files(goos, goarch)
		if err != nil {
			return err
		}
		b, err := archive(name, append(files, pages...), d.time, d.level)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(d.out, name+".tar.gz"), b, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s.tar.gz\n", sha256.Sum256(b), name)
	}
	return os.WriteFile(filepath.Join(d.out, "SHA256SUMS"), sums.Bytes(), 0o644)
}

// files lists the files of an archive: those of its own platform, and those in the tree.
func (d *dist) files(goos, goarch string) ([]file, error) {
	program, err := d.build(goos, goarch)
	if err != nil {
		return nil, err
	}
	parts, err := sbom(program, d.version, d.time)
	if err != nil {
		return nil, err
	}
	files := []file{{"adroit", program, 0o755}, {"adroit.cdx.json", parts, 0o644}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		b, err := os.ReadFile(filepath.Join(d.tree, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, b, 0o644})
	}
	return files, nil
}
