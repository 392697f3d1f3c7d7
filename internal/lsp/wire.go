package lsp

import (
	"encoding/json"

	"github.com/adroit-run/adroit/pkg/tools"
)

// The part of the protocol that is used, version 3.17.

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type document struct {
	URI        string `json:"uri"`
	LanguageID string `json:"languageId,omitempty"`
	Version    int    `json:"version,omitempty"`
	Text       string `json:"text,omitempty"`
}

// opening is a document that is opened: its text is sent even if it is empty.
type opening struct {
	URI        string `json:"uri"`
	LanguageID string `json:"languageId"`
	Version    int    `json:"version"`
	Text       string `json:"text"`
}

type problem struct {
	Range    span   `json:"range"`
	Severity int    `json:"severity"`
	Source   string `json:"source"`
	Message  string `json:"message"`
}

type published struct {
	URI         string    `json:"uri"`
	Version     *int      `json:"version"`
	Diagnostics []problem `json:"diagnostics"`
}

// location is a Location or a LocationLink.
type location struct {
	URI             string `json:"uri"`
	Range           span   `json:"range"`
	TargetURI       string `json:"targetUri"`
	TargetSelection span   `json:"targetSelectionRange"`
}

// symbol is a DocumentSymbol or a SymbolInformation.
type symbol struct {
	Name      string    `json:"name"`
	Kind      int       `json:"kind"`
	Range     span      `json:"range"`
	Selection *span     `json:"selectionRange"`
	Children  []symbol  `json:"children"`
	Location  *location `json:"location"`
}

type answered struct {
	Capabilities struct {
		Diagnostics    json.RawMessage `json:"diagnosticProvider"`
		Symbols        json.RawMessage `json:"documentSymbolProvider"`
		Definition     json.RawMessage `json:"definitionProvider"`
		References     json.RawMessage `json:"referencesProvider"`
		ExecuteCommand struct {
			Commands []string `json:"commands"`
		} `json:"executeCommandProvider"`
	} `json:"capabilities"`
}

// offers reports whether a capability, true or an object of options, is there.
func offers(c json.RawMessage) bool {
	s := string(c)
	return s != "" && s != "false" && s != "null"
}

// initializeParams returns the parameters of the initialize request.
func initializeParams(root string, options any) map[string]any {
	return map[string]any{
		// No processId: in a sandbox the server cannot see us, and would take us
		// for gone. Its input ends when we do.
		"processId":  nil,
		"clientInfo": map[string]any{"name": "adroit"},
		"rootUri":    uriOf(root, ""),
		"rootPath":   root,
		"workspaceFolders": []any{
			map[string]any{"uri": uriOf(root, ""), "name": "workspace"},
		},
		"initializationOptions": options,
		"capabilities": map[string]any{
			"general": map[string]any{"positionEncodings": []string{"utf-16"}},
			"workspace": map[string]any{
				"configuration": true, "workspaceFolders": true,
				"didChangeWatchedFiles": map[string]any{"dynamicRegistration": true},
			},
			"textDocument": map[string]any{
				"synchronization":    map[string]any{"didSave": true},
				"publishDiagnostics": map[string]any{"versionSupport": true},
				"diagnostic":         map[string]any{"dynamicRegistration": false},
				"definition":         map[string]any{"linkSupport": true},
				"references":         map[string]any{},
				"documentSymbol":     map[string]any{"hierarchicalDocumentSymbolSupport": true},
			},
		},
	}
}

func kindName(kind int) string {
	names := map[int]string{2: "module", 3: "namespace", 4: "package", 5: "class", 6: "method", 7: "property", 8: "field",
		9: "constructor", 10: "enum", 11: "interface", 12: "func", 13: "var", 14: "const", 22: "member", 23: "struct", 26: "type"}
	if n, ok := names[kind]; ok {
		return n
	}
	return "symbol"
}

// report turns a server's finding into a Diagnostic; it returns false for mere hints.
func (p problem) report(file string, text []string) (tools.Diagnostic, bool) {
	d := tools.Diagnostic{Severity: "error", Message: oneLine(p.Message), Source: p.Source}
	switch p.Severity {
	case 0, 1:
	case 2:
		d.Severity = "warning"
	default:
		return d, false
	}
	d.Location = spot(file, text, p.Range.Start)
	return d, true
}

func spot(file string, text []string, at position) tools.Location {
	return tools.Location{File: file, Line: at.Line + 1, Column: byteColumn(lineOf(text, at.Line), at.Character) + 1}
}

// raw is part of an answer whose form depends on the server.
type raw = json.RawMessage
