// Command remap moves packages of this module, and merges those that are to be one:
//
//	go run ./internal/dev/remap -map internal/dev/remap/map.txt [-apply]
//
// A line of the map is an old folder, the new one and, where it is not its last part,
// the new package's name. The first folder that goes to a new one keeps its names;
// a package-level name that two of them have gets the old package's name before it,
// unless a line of -names ("FOLDER.NAME NEW") says otherwise. Without -apply it prints
// what it would do, and what it cannot.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
)

func main() {
	mapFile := flag.String("map", "internal/dev/remap/map.txt", "the moves")
	namesFile := flag.String("names", "internal/dev/remap/names.txt", "the new names")
	apply := flag.Bool("apply", false, "do it")
	flag.Parse()
	m, err := readMap(*mapFile, *namesFile)
	if err != nil {
		fail(err)
	}
	r := &remap{plan: m, files: map[string]*file{}, decls: map[string]map[string]bool{}, aliases: map[object]object{}}
	for _, c := range configs {
		if err := r.load(c); err != nil {
			fail(err)
		}
	}
	r.settleNames()
	for _, f := range r.sorted() {
		r.rewrite(f)
	}
	r.cycles()
	slices.Sort(r.problems)
	for _, p := range slices.Compact(r.problems) {
		fmt.Println(p)
	}
	if *apply {
		if err := r.apply(); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "remap:", err)
	os.Exit(1)
}
