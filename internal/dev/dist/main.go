// Command dist makes the release files of a version: for each platform an archive with the
// program, man pages, completions and a list of its components (SBOM), for Linux a deb, an rpm and an
// OCI image, a formula of Homebrew, a script that installs, and the checksums of all of them. Two runs
// over the same files make the same bytes, wherever the tree lies.
//
//	go run ./internal/dev/dist -version v1.2.3 -time 1763798400 -out dist
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
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

// run makes and writes what is released for the platforms.
func (d *dist) run(platforms []string) error {
	pages, err := d.manual()
	if err != nil {
		return err
	}
	return d.write(platforms, func(goos, goarch string) ([]file, error) {
		files, err := d.files(goos, goarch)
		return append(files, pages...), err
	})
}

// write writes what is released of the files for each platform, of which the first is the program.
func (d *dist) write(platforms []string, filesOf func(goos, goarch string) ([]file, error)) error {
	if err := os.MkdirAll(d.out, 0o755); err != nil {
		return err
	}
	sums, programs := map[string]string{}, map[string][]byte{}
	put := func(name string, b []byte) error {
		sums[name] = fmt.Sprintf("%x", sha256.Sum256(b))
		return os.WriteFile(filepath.Join(d.out, name), b, 0o644)
	}
	for _, p := range platforms {
		goos, goarch, ok := strings.Cut(p, "/")
		if !ok {
			return fmt.Errorf("%q is no platform; one is linux/amd64", p)
		}
		name := fmt.Sprintf("adroit-%s-%s-%s", d.version, goos, goarch)
		files, err := filesOf(goos, goarch)
		if err != nil {
			return err
		}
		b, err := archive(name+"/", files, d.time, d.level)
		if err == nil {
			err = put(name+".tar.gz", b)
		}
		if err != nil {
			return err
		}
		if goos != "linux" {
			continue
		}
		programs[goarch] = files[0].data
		for ext, pack := range map[string]func([]file, string) ([]byte, error){"deb": d.deb, "rpm": d.rpm} {
			if b, err = pack(installed(files), goarch); err == nil {
				err = put(name+"."+ext, b)
			}
			if err != nil {
				return fmt.Errorf("the %s of %s: %w", ext, p, err)
			}
		}
	}
	if len(programs) > 0 {
		b, err := d.image(programs)
		if err == nil {
			err = put("adroit-"+d.version+"-image.tar", b)
		}
		if err != nil {
			return fmt.Errorf("the image: %w", err)
		}
	}
	if err := put("install.sh", []byte(strings.ReplaceAll(installScript, "{{version}}", d.version))); err != nil {
		return err
	}
	if formula := d.formula(sums); formula != "" {
		if err := put("adroit.rb", []byte(formula)); err != nil {
			return err
		}
	}
	var list bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&list, "%s  %s\n", sums[name], name)
	}
	return os.WriteFile(filepath.Join(d.out, "SHA256SUMS"), list.Bytes(), 0o644)
}

// files lists the files of an archive: those of its own platform, and those in the tree.
func (d *dist) files(goos, goarch string) ([]file, error) {
	program, err := d.build(goos, goarch)
	if err != nil {
		return nil, err
	}
	lock, err := os.ReadFile(filepath.Join(d.tree, "web", "package-lock.json"))
	if err != nil {
		return nil, err
	}
	parts, err := sbom(program, d.version, d.time, lock)
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

// platforms lists the platforms that CI builds and vets; see docs/sandbox.md.
const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

// A dist builds the release files of one version.
type dist struct {
	tree    string // the repository
	out     string
	version string
	time    time.Time // of every file
	env     []string  // of builds
	level   int       // of compression
}

// build builds the program, without symbols, paths of this machine, or anything
// that the next build would have otherwise.
func (d *dist) build(goos, goarch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "adroit-dist-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "adroit")
	env := append([]string{"GOOS=" + goos, "GOARCH=" + goarch, "GOFLAGS=", "GOWORK=off"}, d.env...)
	if _, err := d.command(env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X "+stamp+"="+d.version, "-o", out, "./cmd/adroit"); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

func (d *dist) command(env []string, name string, args ...string) ([]byte, error) {
	var failed bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = d.tree, append(os.Environ(), env...), &failed
	b, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, args[0], err, failed.Bytes())
	}
	return b, nil
}

// stamp is the variable for the version.
const stamp = "github.com/adroit-run/adroit/pkg/cli/internal/kit.stamped"

// A file is one of an archive, or a directory if its name ends in a slash.
type file struct {
	name string
	data []byte
	mode int64
}

// archive packs files below a directory, in one order, with one time and nobody's
// name. The level is one of compress/gzip.
func archive(dir string, files []file, at time.Time, level int) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		return nil, err
	}
	if err := pack(z, dir, files, at); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// pack writes files as a tar.
func pack(w io.Writer, dir string, files []file, at time.Time) error {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	t := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: dir + f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: at, Format: tar.FormatPAX}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return t.Close()
}
