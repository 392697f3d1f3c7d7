package hostexec

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is the number of links that a path may have, as the kernel has it, with room.
const maxLinks = 64

// Links are all places on the way that a path leads: each link on it, and of the links
// that those lead to, and last what is found in the end. Each is an absolute path whose
// directory has no links. Whoever may change one of them changes where the path leads.
//
// What is not there is named as far as it is known. With an error, what follows is
// unknown, and the last place is where that begins.
func Links(path string) (places []string, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	at, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if !holdsOneOf(at, places) { // else a place in it says where it is
				places = append(places, at)
			}
			at = filepath.Dir(at)
			continue
		}
		here := filepath.Join(at, part)
		info, err := os.Lstat(here)
		if err != nil {
			places = append(places, filepath.Join(here, filepath.Join(rest...)))
			if errors.Is(err, fs.ErrNotExist) {
				return places, nil
			}
			return places, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = here
			continue
		}
		places = append(places, here)
		if links++; links > maxLinks {
			return places, errors.New("too many links")
		}
		to, err := os.Readlink(here)
		if err != nil {
			return places, err
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return append(places, at), nil
}

func holdsOneOf(dir string, places []string) bool {
	for _, p := range places {
		if within(dir, p) {
			return true
		}
	}
	return false
}

func within(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
