package config

import (
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// A place names a key: the file, and the line of the key or of the innermost one around
// it that is there.
type place func(keys ...string) string

// placeIn returns what names the keys of the file's text b.
func placeIn(path string, b []byte) place {
	return func(keys ...string) string {
		file, err := parser.ParseBytes(b, 0)
		if err != nil || len(file.Docs) == 0 {
			return path
		}
		line := 0
		for at, i := ast.Node(file.Docs[0].Body), 0; i < len(keys); i++ {
			if list, ok := at.(*ast.SequenceNode); ok {
				if n, err := strconv.Atoi(keys[i]); err == nil && n < len(list.Values) {
					at = list.Values[n]
					line = firstLine(at)
				}
				continue
			}
			entry := entryOf(at, keys[i])
			if entry == nil {
				break
			}
			line, at = entry.Key.GetToken().Position.Line, entry.Value
		}
		if line == 0 {
			return path
		}
		return fmt.Sprintf("%s:%d", path, line)
	}
}
