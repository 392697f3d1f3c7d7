// Package unixonly makes a build for Windows fail with a sentence instead of errors about system
// calls: the lowest packages that need Linux or macOS import it.
package unixonly
