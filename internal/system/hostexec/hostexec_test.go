package hostexec

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// plant makes a program that is found as name in dir.
func plant(t *testing.T, dir, name string) string {
	t.Helper()
	at := filepath.Join(dir, name)
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(at, []byte("#!/bin/sh\n"), 0o755))
	return at
}

// alone has a test begin with no place forbidden.
func alone(t *testing.T) string {
	t.Helper()
	clean := func() { places.asked, places.dirs, places.found = nil, nil, nil }
	clean()
	t.Cleanup(clean)
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	t.Setenv("HOME", filepath.Join(base, "home"))
	return base
}

// A program is taken from no directory in which a job may write, under any name by which PATH
// leads there.
func TestFindPassesOver(t *testing.T) {
	for name, lead := range map[string]func(t *testing.T, base, project string) (path string){
		"venv": func(t *testing.T, _, p string) string { plant(t, p+"/.venv/bin", "tool"); return p + "/.venv/bin" },
		"above": func(t *testing.T, _, p string) string {
			plant(t, filepath.Dir(p)+"/bin", "tool")
			return filepath.Dir(p) + "/bin"
		},
		"the top": func(t *testing.T, _, p string) string { plant(t, p, "tool"); return p },
		"a link to": func(t *testing.T, base, p string) string {
			plant(t, p+"/bin", "tool")
			must(t, os.Symlink(p+"/bin", base+"/l"))
			return base + "/l"
		},
		"a program that is a link": func(t *testing.T, base, p string) string {
			plant(t, p+"/bin", "x")
			must(t, os.Mkdir(base+"/own", 0o755))
			must(t, os.Symlink(p+"/bin/x", base+"/own/tool"))
			return base + "/own"
		},
		"a program by way of a link": func(t *testing.T, base, p string) string {
			must(t, os.Mkdir(p+"/bin", 0o755))
			must(t, os.Symlink(plant(t, base+"/real", "tool"), p+"/bin/l"))
			must(t, os.Mkdir(base+"/own", 0o755))
			must(t, os.Symlink(base+"/repo/work/bin/l", base+"/own/tool"))
			return base + "/own"
		},
		"a directory by way of a link": func(t *testing.T, base, p string) string {
			plant(t, base+"/real", "tool")
			must(t, os.Symlink("../../real", p+"/bin"))
			must(t, os.Symlink("repo/work/bin", base+"/l"))
			return base + "/l"
		},
		"through and out": func(t *testing.T, base, p string) string {
			plant(t, base+"/real", "tool")
			must(t, os.Symlink(p+"/../../real", base+"/l"))
			return base + "/l"
		},
		"for all by way of a link": func(t *testing.T, base, _ string) string {
			plant(t, base+"/real", "tool")
			must(t, os.Mkdir(base+"/pub", 0o755))
			must(t, os.Symlink(base+"/real", base+"/pub/l"))
			must(t, os.Symlink(base+"/pub/l", base+"/l"))
			must(t, os.Chmod(base+"/pub", 0o777))
			return base + "/l"
		},
		"dots": func(t *testing.T, base, p string) string {
			plant(t, p+"/bin", "tool")
			return base + "/safe/../repo/work/bin"
		},
		"for all": func(t *testing.T, base, _ string) string {
			plant(t, base+"/pub", "tool")
			must(t, os.Chmod(base+"/pub", 0o777))
			return base + "/pub"
		},
		"relative": func(t *testing.T, _, p string) string { plant(t, p+"/bin", "tool"); t.Chdir(p); return "bin" },
		"nothing":  func(t *testing.T, _, p string) string { plant(t, p, "tool"); t.Chdir(p); return "" },
		"a granted": func(t *testing.T, base, _ string) string {
			plant(t, base+"/granted/bin", "tool")
			Forbid(base + "/granted")
			return base + "/granted/bin"
		},
	} {
		t.Run(name, func(t *testing.T) {
			base := alone(t)
			project := base + "/repo/work"
			must(t, os.MkdirAll(project, 0o755))
			must(t, os.Mkdir(base+"/repo/.git", 0o755))
			must(t, os.WriteFile(base+"/repo/.git/HEAD", nil, 0o644))
			safe := plant(t, base+"/safe", "tool")
			list := lead(t, base, project)
			t.Setenv("PATH", list)
			Forbid(project)
			if at, err := Find("tool"); !errors.Is(err, exec.ErrNotFound) {
				t.Errorf("alone: %s, %v", at, err)
			}
			if err := Command(t.Context(), "tool").Run(); !errors.Is(err, exec.ErrNotFound) {
				t.Errorf("it runs: %v", err)
			}
			t.Setenv("PATH", list+":"+base+"/safe")
			if at, err := Find("tool"); at != safe || err != nil {
				t.Errorf("%s, %v, want %s", at, err, safe)
			}
			if strings.HasPrefix(name, "a program ") {
				return // the directory is the user's own
			}
			env := Environ(os.Environ())
			for _, kv := range env {
				if strings.HasPrefix(kv, "PATH=") && kv != "PATH="+base+"/safe" {
					t.Errorf("programs get %s", kv)
				}
			}
		})
	}
}

// A program that was found stays, even if another comes before it later, unless jobs may now write
// there.
func TestFindKeeps(t *testing.T) {
	base := alone(t)
	first, second := base+"/a", base+"/b"
	must(t, os.Mkdir(first, 0o755))
	t.Setenv("PATH", first+":"+second)
	want := plant(t, second, "tool")
	if at, err := Find("tool"); at != want || err != nil {
		t.Fatalf("%s, %v", at, err)
	}
	plant(t, first, "tool")
	if at, err := Find("tool"); at != want || err != nil {
		t.Errorf("%s, %v, want %s", at, err, want)
	}
	Forbid(second)
	if at, err := Find("tool"); at != filepath.Join(first, "tool") || err != nil {
		t.Errorf("%s, %v", at, err)
	}
	Forbid(first)
	if _, err := Find("tool"); err == nil || !strings.Contains(err.Error(), "jobs may write in "+first) || Lacking(err) == "not on PATH" {
		t.Errorf("%v", err)
	}
	if _, err := Find("./tool"); err == nil {
		t.Error("a relative path was taken")
	}
}

// Where links lead is asked each time.
func TestFindLooksAgain(t *testing.T) {
	base := alone(t)
	safe := plant(t, base+"/safe", "tool")
	must(t, os.Mkdir(base+"/own", 0o755))
	link := base + "/own/tool"
	must(t, os.Symlink(plant(t, base+"/real", "tool"), link))
	Forbid(base + "/work")
	t.Setenv("PATH", base+"/own:"+base+"/safe")
	if at, err := Find("tool"); at != link || err != nil { // its name is kept: some programs go by it
		t.Fatalf("%s, %v", at, err)
	}
	must(t, os.Remove(link))
	must(t, os.Symlink(plant(t, base+"/work", "tool"), link))
	if at, err := Find("tool"); at != safe || err != nil {
		t.Errorf("%s, %v, want %s", at, err, safe)
	}
}

func TestLinks(t *testing.T) {
	base := alone(t)
	must(t, os.MkdirAll(base+"/d/e", 0o755))
	for name, to := range map[string]string{"a": "b/x/none", "b": base + "/d/e/../../c", "c": "d", "loop": "loop/x", "d/up": "../f", "f": "d/e"} {
		must(t, os.Symlink(to, filepath.Join(base, name)))
	}
	for path, want := range map[string]string{
		"d": "d", "f": "f d/e", "d/up": "d/up f d/e", "a": "a b d/e c d/x/none", "none/x": "none/x", "a/../c": "c d",
	} {
		got, err := Links(base + "/" + path)
		if text := strings.ReplaceAll(strings.Join(got, " "), base+"/", ""); text != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", path, text, err, want)
		}
	}
	if got, err := Links(base + "/loop"); err == nil {
		t.Errorf("a loop: %q", got)
	}
}

// The repository that has the user's home in it is not a project.
func TestHomeIsNoProject(t *testing.T) {
	base := alone(t)
	home := base + "/home"
	want := plant(t, home+"/.local/bin", "tool")
	must(t, os.Mkdir(home+"/.git", 0o755))
	must(t, os.WriteFile(home+"/.git/HEAD", nil, 0o644))
	t.Setenv("PATH", home+"/.local/bin")
	Forbid(home + "/work/x")
	if at, err := Find("tool"); at != want || err != nil {
		t.Errorf("%s, %v", at, err)
	}
	t.Chdir(home)
	ForbidCurrent()
	if at, err := Find("tool"); at != want || err != nil {
		t.Errorf("%s, %v", at, err)
	}
	Forbid(home) // a job that works in it
	if at, err := Find("tool"); err == nil {
		t.Errorf("%s", at)
	}
}
