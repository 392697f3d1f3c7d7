// Package unixonly is what a build for Windows stops at, with a sentence in place of
// errors about system calls: the lowest packages that need Linux or macOS import it.
package unixonly
