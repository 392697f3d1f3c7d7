package textcall

import (
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Synonyms are names that other programs have for tools, folded, with what they
// are called here. All of these only read, or end the work: a call that writes, runs or publishes is
// run under the name of its tool alone, however that is spelled.
var Synonyms = map[string]string{
	"read": "read_file", "view": "read_file", "viewfile": "read_file", "openfile": "read_file", "getfile": "read_file", "cat": "read_file", "filereader": "read_file",
	"ls": "list_files", "listdir": "list_files", "listdirectory": "list_files", "list": "list_files", "getfiles": "list_files",
	"completetask": "finish", "attemptcompletion": "finish", "taskcomplete": "finish", "finishtask": "finish",
	"grep": "search", "searchtext": "search", "searchfiles": "search", "searchcode": "search", "grepsearch": "search", "codesearch": "search", "findinfiles": "search",
}

// Meant is the offered tool that a name stands for which no tool has: the one that
// is spelled otherwise, or the one that other programs call so.
func Meant(name string, offered []llm.ToolSpec) (string, bool) {
	fold, found := spelling.Fold(name), ""
	for _, t := range offered {
		if spelling.Fold(t.Name) != fold {
			continue
		}
		if found != "" {
			return "", false // two have it
		}
		found = t.Name
	}
	if found != "" {
		return found, true
	}
	for _, t := range offered {
		if t.Name == Synonyms[fold] {
			return t.Name, true
		}
	}
	return "", false
}

// namespaces are what models put before the name of each tool.
var namespaces = []string{"functions", "function", "tools", "tool", "default_api"}

// BareName is a tool's name without what models leave around it: the namespace that their
// template has for all tools, quotes, and tokens behind it. Another namespace is of
// another server's tool, and stays.
func BareName(name string) string {
	name, _, _ = strings.Cut(name, "<|")
	name = strings.Trim(strings.TrimSpace(name), "`\"'")
	for _, n := range namespaces {
		if rest, ok := strings.CutPrefix(name, n); ok {
			for _, sep := range []string{".", "::", ":", "/"} {
				if short, ok := strings.CutPrefix(rest, sep); ok && short != "" {
					return short
				}
			}
		}
	}
	return name
}
