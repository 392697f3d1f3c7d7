package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli/internal/exit"
	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/llm/ollama"
)

func (a *app) modelsPull() *cobra.Command {
	var asJSON, insecure bool
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "pull NAME",
		Short: "Have Ollama fetch a model, going on where an earlier pull stopped",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := a.models("")
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(args[0], ollamaProvider+"/")
			if name == "" {
				return exit.Usagef("for example: adroit models pull qwen3:8b", "no model is named")
			}
			client, err := ollama.NewClient(m.ollama())
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			show := a.pulling()
			if asJSON {
				show = func(p ollama.Progress) { _ = a.json(p) } // what stdout cannot take is noticed at the end
			}
			err = client.Pull(ctx, name, insecure, show)
			switch {
			case errors.Is(err, context.DeadlineExceeded):
				return exit.Fail(fmt.Errorf("%s is not complete after %s", name, limit), "the same command goes on where this one stopped")
			case err != nil:
				return modelFault(err)
			}
			if !asJSON {
				fmt.Fprintf(a.Stdout, "%s is there; try it with: adroit models check ollama/%s\n", render.SanitizeLine(name), render.SanitizeLine(name))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "progress as JSON objects")
	cmd.Flags().BoolVar(&insecure, "insecure", false, "permit a registry without TLS")
	cmd.Flags().DurationVar(&limit, "timeout", 0, "give up after this long; 0 for no limit")
	return cmd
}

// pulling writes progress for people: one line when a part begins, and one
// at each tenth of it.
func (a *app) pulling() func(ollama.Progress) {
	status, tenth := "", int64(-1)
	return func(p ollama.Progress) {
		if p.Status != status {
			status, tenth = p.Status, -1
			if p.Total == 0 {
				fmt.Fprintln(a.Stderr, render.SanitizeLine(p.Status))
			}
		}
		if p.Total <= 0 {
			return
		}
		if now := min(p.Done, p.Total) * 10 / p.Total; now > tenth {
			tenth = now
			fmt.Fprintf(a.Stderr, "%s  %d%% of %s\n", render.SanitizeLine(p.Status), now*10, render.Bytes(p.Total))
		}
	}
}

// fit is the context window to ask for: what the model was made for, the
// usual, and this machine's memory bound it.
func (m *models) fit(info ollama.Info) int {
	return info.Window(ollama.Limits{Memory: spare(m.ollama().BaseURL)})
}

// spare is how much memory a window may take on the machine of the server, 0
// if that is unknown: half of what is free here, if it is here.
func spare(base string) int64 {
	if base != "" {
		u, err := url.Parse(base)
		if err != nil {
			return 0
		}
		if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
			return 0
		}
	}
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(b), "MemAvailable:")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0
	}
	kb, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0
	}
	return kb * 1024 / 2
}
