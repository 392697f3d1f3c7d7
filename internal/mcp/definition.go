package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Bounds of what a server may say of its tools.
const (
	maxTools       = 10_000   // of a server that are offered
	maxListBytes   = 16 << 20 // of their schemas and descriptions
	maxListed      = 20_000   // that are read at all
	maxSchemaBytes = 32 << 10 // of a tool's arguments
	maxDescription = 2 << 10
	maxWireName    = 256 // of a tool as its server names it
)

// A definition is what a server says of a tool, as it is kept.
type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input"`
	ReadOnly    bool            `json:"read_only,omitempty"`
	Idempotent  bool            `json:"idempotent,omitempty"`
	Harmless    bool            `json:"harmless,omitempty"` // it says that it destroys nothing
	Digest      string          `json:"digest"`             // of all of it, as the server says it
	// Unchecked has what of the schema is not understood, and left out of Input.
	Unchecked []string `json:"unchecked,omitempty"`
}

// define takes what can be used of a tool; problem says why it cannot.
func define(t *sdk.Tool) (d definition, problem string) {
	d = definition{Name: t.Name, Description: spelling.Clip(rootfs.Visible(cmp.Or(t.Description, t.Title)), maxDescription)}
	input, err := json.Marshal(t.InputSchema)
	if err != nil {
		return d, "its schema cannot be read"
	}
	whole, err := json.Marshal(struct {
		Name, Title, Description string
		Input                    json.RawMessage
		Annotations              *sdk.ToolAnnotations
	}{t.Name, t.Title, t.Description, input, t.Annotations})
	if err != nil {
		return d, "its annotations cannot be read"
	}
	d.Input, d.Digest = input, digest(whole)
	if a := t.Annotations; a != nil {
		d.ReadOnly, d.Idempotent = a.ReadOnlyHint, a.IdempotentHint || a.ReadOnlyHint
		d.Harmless = a.ReadOnlyHint || a.DestructiveHint != nil && !*a.DestructiveHint
	}
	switch {
	case t.Name == "" || len(t.Name) > maxWireName || rootfs.Visible(t.Name) != t.Name || strings.ContainsAny(t.Name, "\n\t"):
		return d, fmt.Sprintf("its name is empty, not printable or longer than %d bytes", maxWireName)
	case len(input) > maxSchemaBytes:
		return d, fmt.Sprintf("its schema is longer than %d bytes", maxSchemaBytes)
	}
	probe := tools.Func(tools.Metadata{Name: "probe", Description: "Probe."}, input, nil)
	if probe.Input.Err() == nil {
		return d, ""
	}
	s, left, err := schema.Relax(input)
	if err != nil {
		return d, "its schema cannot be used: " + spelling.Clip(strings.Join(strings.Fields(err.Error()), " "), 200)
	}
	d.Input = s.JSON()
	for _, l := range left {
		d.Unchecked = append(d.Unchecked, line(l))
	}
	return d, ""
}

// unchecked is what of the schema of a tool is left out, in a line; "" for nothing.
func (d definition) unchecked() string {
	if d.Unchecked == nil {
		return ""
	}
	return spelling.Clip("not checked before a call: "+strings.Join(d.Unchecked, "; "), 600)
}

// offers reports whether an entry lets a tool be offered. A pattern that is a name means
// that tool, and slashes are like other letters: names of tools are no paths.
func (s Server) offers(tool string) bool {
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	return len(s.Tools) == 0 || slices.ContainsFunc(s.Tools, func(p string) bool {
		ok, _ := path.Match(flat(p), flat(tool))
		return ok || p == tool
	})
}

// offline reports whether the program of a server is kept from the network, with
// the servers' sandbox at a level.
func (s Server) offline(level string) bool {
	return s.URL == "" && s.Sandbox != "off" && level != "off" && !s.Net
}

// reach is what a server really has, in words for who is asked about a call.
func (s Server) reach(level string) string {
	switch {
	case s.URL != "":
		return "it is behind an address"
	case s.Sandbox == "off", level == "off":
		return "its program runs without a sandbox, with the network and all files"
	}
	has := []string{"the network"}
	if s.offline(level) {
		has[0] = "no network"
	}
	if s.Workspace != "" {
		has = append(has, "the workspace to "+s.Workspace)
	}
	if len(s.Write) > 0 {
		has = append(has, "to write "+strings.Join(s.Write, ", "))
	}
	return "its program is in the sandbox and has " + strings.Join(has, ", ")
}

// tool is a definition as the tool of a job. A call reaches something outside
// that nobody here confines, so that it needs the network, is untrusted, and asks
// unless the server says that it changes nothing.
func (d definition) tool(name, server string, s Server, level string) turn.Tool {
	m := tools.Metadata{
		Name: name, Description: cmp.Or(strings.TrimSpace(d.Description), fmt.Sprintf("The tool %s of the server %s.", d.Name, server)),
		Category: "mcp", Optionality: tools.Optional, Needs: tools.Net, Effect: tools.Unsafe, Timeout: s.Timeout, Source: string(s.source), Produces: []string{name + "/*"}, Offline: s.offline(level),
	}
	if s.Workspace == "write" || len(s.Write) > 0 || s.Sandbox == "off" {
		m.Needs |= tools.Write // it can write, whatever it says: mode plan has none of its tools
	}
	if s.Workspace == "read" {
		m.Needs |= tools.Read // that of the agent, which may be in a work tree
	}
	switch {
	case d.ReadOnly && m.Needs&tools.Write == 0:
		m.Effect = tools.Pure
	case d.ReadOnly, d.Idempotent:
		m.Effect = tools.Idempotent
	}
	switch {
	case d.ReadOnly:
	case d.Harmless:
		m.Asks = fmt.Sprintf("the server %s says that it changes something", server)
	default:
		m.Asks = fmt.Sprintf("the server %s does not say that it only reads; it may change or delete something", server)
	}
	if m.Asks != "" {
		m.Asks += "; " + s.reach(level)
	}
	if words := d.unchecked(); words != "" {
		m.Description += "\n(" + words + ")"
	}
	return turn.Tool{Metadata: m, Input: d.Input, Server: server, Tool: d.Name, Digest: d.Digest}
}
