package define

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

func newCheck(e *kit.Env) *cobra.Command {
	var asJSON, accept bool
	var dir string
	cmd := &cobra.Command{
		Use:   "check NAME",
		Short: "Start an MCP server and list its tools",
		Long: "Starts the server and lists its tools. Those that it has when it is first used are offered\n" +
			"to agents as they are then; a tool that is new since, or described otherwise, is not, until\n" +
			"--accept accepts it. What models get to read of each tool is shown whole, and what of it\n" +
			"differs from what was accepted is marked.",
		Example: "  adroit mcp check files\n  adroit mcp check files --accept",
		Args:    cobra.ExactArgs(1),
		RunE: e.With(func(ctx context.Context, c adroit.Client, args []string) error {
			root, err := kit.Directory(dir)
			if err != nil {
				return err
			}
			q := adroit.ToolServerCheck{Named: adroit.Named{Scope: adroit.Scope{Dir: root}, Name: args[0]}, Accept: accept}
			r, err := c.CheckToolServer(ctx, q)
			if err != nil {
				return err
			}
			if err := kit.Print(e.OutScreen(), asJSON, r, printReport); err != nil {
				return err
			}
			if r.Pending > 0 {
				return kit.With(kit.Failed)
			}
			return nil
		}),
	}
	kit.JSONFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&accept, "accept", false, "offer the tools as they are now")
	cmd.Flags().StringVarP(&dir, "dir", "C", ".", "as a job in this directory has it")
	return cmd
}

// mostShown is how many tools of a server are shown to a person.
const mostShown = 200

// toolName is the name of a tool so that two names look alike only if they are.
func toolName(name string) string {
	if strings.Join(strings.Fields(name), " ") != name {
		return strconv.Quote(name)
	}
	return kit.SanitizeLine(name)
}

// printTool prints all that a model gets to read of the tool n, which is what is accepted, and
// marks the lines that differ from what was accepted before.
func printTool(w io.Writer, r *adroit.ToolServerReport, n int) {
	i := r.Items[n]
	is := toolLines(i.Description, i.Input)
	if i.Accepted == nil {
		if len(is) == 1 && is[0] == kit.SanitizeLine(kit.FirstSentence(i.Description)) {
			return // the list has it
		}
		fmt.Fprintf(w, "%s\n", toolName(i.Name))
		for _, l := range is {
			fmt.Fprintf(w, "    %s\n", l)
		}
		return
	}
	was := toolLines(i.Accepted.Description, i.Accepted.Input)
	if slices.Equal(was, is) {
		fmt.Fprintf(w, "%s  differs from what was accepted in its title or in what the server says that it changes\n", toolName(i.Name))
	} else {
		fmt.Fprintf(w, "%s  differs from what was accepted:\n", toolName(i.Name))
	}
	for _, l := range was {
		if !slices.Contains(is, l) {
			fmt.Fprintf(w, "  - %s\n", l)
		}
	}
	for _, l := range is {
		mark := "+"
		if slices.Contains(was, l) {
			mark = " "
		}
		fmt.Fprintf(w, "  %s %s\n", mark, l)
	}
}

// toolLines are a description and a schema in lines: one for each parameter, with all that
// is in its schema, and one for what else the schema has.
func toolLines(description string, input json.RawMessage) (lines []string) {
	for l := range strings.Lines(strings.TrimSpace(description)) {
		lines = append(lines, kit.SanitizeLine(strings.TrimRight(l, "\r\n")))
	}
	var s map[string]json.RawMessage
	var properties map[string]json.RawMessage
	if json.Unmarshal(input, &s) != nil || len(s["properties"]) > 0 && json.Unmarshal(s["properties"], &properties) != nil {
		return append(lines, kit.SanitizeLine(string(input)))
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		lines = append(lines, fmt.Sprintf("%s: %s", toolName(name), compact(properties[name])))
	}
	delete(s, "properties")
	if string(s["type"]) == `"object"` {
		delete(s, "type")
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		lines = append(lines, fmt.Sprintf("(%s: %s)", kit.SanitizeLine(name), compact(s[name])))
	}
	return lines
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return kit.SanitizeLine(string(raw))
	}
	return kit.SanitizeLine(b.String())
}

func printReport(w io.Writer, r *adroit.ToolServerReport) {
	fmt.Fprintf(w, "%s: %s, MCP %s, %s\n", kit.SanitizeLine(r.Name), kit.SanitizeLine(r.Version), kit.SanitizeLine(r.Protocol), kit.Plural(len(r.Items), "tool"))
	var t kit.Table
	for _, i := range r.Items[:min(len(r.Items), mostShown)] {
		words := []string{i.Effect}
		if i.Asks {
			words = append(words, "asks")
		}
		if i.State != "offered" {
			words = append(words, i.State)
		}
		t.Row("  "+toolName(i.Name), strings.Join(words, ", "), kit.SanitizeLine(kit.FirstSentence(i.Description)))
	}
	t.Write(w)
	if n := len(r.Items) - mostShown; n > 0 {
		fmt.Fprintf(w, "  and %d more; --json lists them\n", n)
	}
	for n, i := range r.Items {
		if n < mostShown || i.State != "offered" || i.Accepted != nil {
			printTool(w, r, n)
		}
	}
	switch {
	case r.Transport != "stdio":
	case len(r.Compared) == 0:
		fmt.Fprintln(w, "nothing of its command is compared with what was accepted before it is started: a change of what it runs is not noticed")
	default:
		fmt.Fprintf(w, "compared with what was accepted before it is started, and nothing else: %s\n", kit.SanitizeLine(strings.Join(r.Compared, ", ")))
	}
	for _, p := range r.Prompts {
		fmt.Fprintf(w, "prompt %s: %s\n", kit.SanitizeLine(p.Name), kit.SanitizeLine(kit.FirstSentence(p.Description)))
	}
	for _, i := range r.Items[:min(len(r.Items), mostShown)] {
		for _, u := range i.Unchecked {
			fmt.Fprintf(w, "not checked before a call of %s: %s\n", toolName(i.Name), kit.SanitizeLine(u))
		}
	}
	for _, u := range r.Unusable {
		fmt.Fprintf(w, "not usable: %s\n", kit.SanitizeLine(u))
	}
	for _, g := range r.Gone {
		fmt.Fprintf(w, "gone: %s\n", kit.SanitizeLine(g))
	}
	if r.More > 0 {
		fmt.Fprintf(w, "and %d more, which are not offered: choose by tools: in its entry\n", r.More)
	}
	if r.Pending > 0 {
		fmt.Fprintf(w, "%s changed or new, and not offered: %s accepts them as they are\n", kit.Plural(r.Pending, "tool"), hint.Command("mcp check %s --accept", r.Name))
	}
}
