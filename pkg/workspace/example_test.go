package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/pkg/workspace"
)

// A file that somebody else has changed since it was read is not overwritten.
func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "greeting.txt")
	if err := os.WriteFile(name, []byte("hello\r\n"), 0o644); err != nil {
		panic(err)
	}
	files, err := workspace.Open(dir, nil)
	if err != nil {
		panic(err)
	}
	defer files.Close()

	text, err := files.ReadText("greeting.txt")
	if err != nil {
		panic(err)
	}
	text.Content = strings.Replace(text.Content, "hello", "good morning", 1)
	fmt.Println("first:", files.WriteText("greeting.txt", text))

	if err := os.WriteFile(name, []byte("not yours\n"), 0o644); err != nil {
		panic(err)
	}
	fmt.Println("then:", files.WriteText("greeting.txt", text))
	_, err = files.ReadText("../passwd")
	fmt.Println("outside:", err)
	// Output:
	// first: <nil>
	// then: "greeting.txt": has been changed since it was read, by someone else or by a command; read it again, then repeat the change
	// outside: "../passwd": the path contains ".."; write it from the top of the workspace, without ".."
}
