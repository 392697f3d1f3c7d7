// Package habits tries adroit with weak models. A stand-in does a small real task over the
// wires of real servers and shows one bad habit at it, such as a call that it prints in place of
// making it; each habit is taken from public reports. `make habits` runs all of them in
// each mode on each wire and writes docs/dev/habits.md; the tests try a sample.
package habits
