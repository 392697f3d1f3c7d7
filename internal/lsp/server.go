package lsp

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Server is a language server: how it is started and what it serves.
type Server struct {
	Name    string
	Command []string // speaks the protocol on its standard input and output
	Files   []string // patterns of base names, such as *.rs
	Options any      // sent as initializationOptions; may be nil

	// also are files that are not served but whose changes it must hear of.
	also []string
	// pull asks for a file's diagnostics where the protocol's own way does not
	// tell when they are complete.
	pull puller
	// noise begins messages that are about the host and not about the file.
	noise []string
}

// Known are the servers that are used if they are installed.
func Known() []Server {
	return []Server{
		{
			Name: "gopls", Command: []string{"gopls"}, Files: []string{"*.go"},
			Options: map[string]any{"pullDiagnostics": true, "diagnosticsDelay": "0s", "vulncheck": "Off"},
			also:    []string{"go.mod", "go.sum", "go.work"},
			// In a sandbox the build cache is an overlay that others change below it.
			noise: []string{"loading compiled Go files from cache"},
		},
		{
			Name: "typescript", Command: []string{"typescript-language-server", "--stdio"},
			Files: []string{"*.ts", "*.tsx", "*.mts", "*.cts", "*.js", "*.jsx", "*.mjs", "*.cjs"},
			// Nothing is to be fetched behind the user's back.
			Options: map[string]any{"disableAutomaticTypingAcquisition": true, "tsserver": map[string]any{"useSyntaxServer": "never"}},
			also:    []string{"tsconfig.json", "jsconfig.json", "package.json"},
			pull:    pullTypeScript,
		},
		{
			Name: "pyright", Command: []string{"pyright-langserver", "--stdio"}, Files: []string{"*.py", "*.pyi"},
			also: []string{"pyproject.toml", "pyrightconfig.json"},
		},
	}
}

// Merge puts the operator's servers over the known ones: one of the same name
// replaces it, and comes first for the files it names.
func Merge(own []Server) []Server {
	all := slices.Clone(own)
	for _, k := range Known() {
		if !slices.ContainsFunc(own, func(s Server) bool { return s.Name == k.Name }) {
			all = append(all, k)
		}
	}
	return all
}

func (s Server) serves(file string) bool {
	base := path.Base(filepath.ToSlash(file))
	return slices.ContainsFunc(s.Files, func(pattern string) bool {
		ok, err := path.Match(pattern, base)
		return ok && err == nil
	})
}

// language is the protocol's name of a file's language.
func language(file string) string {
	ext := strings.TrimPrefix(path.Ext(file), ".")
	switch ext {
	case "ts", "mts", "cts":
		return "typescript"
	case "tsx":
		return "typescriptreact"
	case "js", "mjs", "cjs":
		return "javascript"
	case "jsx":
		return "javascriptreact"
	case "py", "pyi":
		return "python"
	case "rs":
		return "rust"
	case "rb":
		return "ruby"
	case "cc", "cpp", "cxx", "hpp", "hh":
		return "cpp"
	case "h":
		return "c"
	case "cs":
		return "csharp"
	case "kt":
		return "kotlin"
	case "sh":
		return "shellscript"
	case "md":
		return "markdown"
	case "yml":
		return "yaml"
	}
	return ext
}
