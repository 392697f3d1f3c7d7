//go:build !race

package main

// raced is the part of the tests that runs here: all. race_test.go has the other one.
const raced = ""
