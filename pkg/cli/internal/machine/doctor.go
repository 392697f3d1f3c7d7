// Package machine has the commands for what a machine and its user have: adroit config,
// doctor, init, login, logout, models and trust.
package machine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"

	"github.com/spf13/cobra"
)

// NewDoctor returns the command adroit doctor.
func NewDoctor(e *kit.Env) *cobra.Command {
	var asJSON, all bool
	q := adroit.DoctorQuery{Home: e.Getenv("HOME")}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find problems that keep jobs from running, and how to fix them",
		Long: "Looks at the configuration, the data directory, models, programs, the sandbox and the tests of\n" +
			"the directory. What keeps every job from running comes first, with what to do next; the exit code\n" +
			"is then 1. What this project needs and lacks follows. The rest is in one line, or listed with --all.",
		Example: "  adroit doctor",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.Dir, _ = kit.Directory(".") // without one, a finding says so
			found, err := examine(cmd.Context(), e, q)
			if err != nil {
				return err
			}
			if err := kit.Print(e.Out, asJSON, found, func(w io.Writer, found []adroit.Finding) { text(w, found, all) }); err != nil {
				return err
			}
			if slices.ContainsFunc(found, func(f adroit.Finding) bool { return f.Status == adroit.Broken }) {
				return kit.With(kit.Failed)
			}
			return nil
		},
	}
	kit.JSONFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&all, "all", false, "also list what is fine and what nothing here needs")
	cmd.Flags().BoolVar(&q.Check, "check", false, "also verify the database and undo data of every job")
	return cmd
}

// order sorts findings: the blocking ones first.
var order = []adroit.FindingStatus{adroit.Broken, adroit.Lacking, adroit.Note, adroit.Fine}

// text leads with what keeps jobs from running, and what to do next about it.
func text(w io.Writer, found []adroit.Finding, all bool) {
	found = slices.Clone(found)
	slices.SortStableFunc(found, func(a, b adroit.Finding) int {
		return slices.Index(order, a.Status) - slices.Index(order, b.Status)
	})
	if len(found) > 0 && found[0].Status == adroit.Broken {
		fmt.Fprintf(w, "no job can run: %s: %s\n", kit.SanitizeLine(found[0].Name), kit.SanitizeLine(found[0].What))
		if do := found[0].Do; do != "" {
			fmt.Fprintf(w, "next: %s\n", kit.SanitizeLine(do))
		}
		fmt.Fprintln(w)
	}
	var t kit.Table
	var fine, absent, unneeded []string
	for _, f := range found {
		switch name := kit.SanitizeLine(f.Name); {
		case all, slices.Contains(leading, f.Name):
		case f.Status == adroit.Fine:
			fine = append(fine, name)
			continue
		case f.Optional && f.Status == adroit.Note:
			absent = append(absent, name)
			continue
		case f.Optional && f.Status != adroit.Broken:
			unneeded = append(unneeded, name)
			continue
		}
		what := f.What
		if f.Do != "" {
			what += "; " + f.Do
		}
		t.Row(string(f.Status), f.Name, what)
	}
	t.Write(w)
	var rest []string
	if len(fine) > 0 {
		rest = append(rest, "fine too: "+strings.Join(slices.Compact(fine), ", "))
	}
	if len(absent) > 0 {
		rest = append(rest, "not set up: "+strings.Join(slices.Compact(absent), ", "))
	}
	if len(unneeded) > 0 {
		rest = append(rest, "not needed here: "+strings.Join(slices.Compact(unneeded), ", "))
	}
	if len(rest) > 0 {
		fmt.Fprintf(w, "\n%s    %s\n", strings.Join(rest, "; "), hint.Command("doctor --all"))
	}
}

// leading are the findings that every project is asked about, also where they are fine.
var leading = []string{"model", "tests", "sandbox", "check"}

// examine asks the client. If none can be opened, it reports the findings that need none.
func examine(ctx context.Context, e *kit.Env, q adroit.DoctorQuery) ([]adroit.Finding, error) {
	path := config.Path(e.Getenv)
	first := adroit.Finding{Name: "config", Status: adroit.Fine, What: e.Home(path)}
	conf, err := e.Config()
	if err != nil {
		what, _, _ := strings.Cut(err.Error(), "\n") // without the lines of the file
		first = adroit.Finding{Name: "config", Status: adroit.Broken, What: what, Do: cmp.Or(problem.Hint(err), "correct the file")}
		others := adroit.Diagnose(ctx, adroit.Options{Tools: adroit.ToolsOf(e.Parts), Examine: adroit.ExaminationsOf(e.Parts)}, err, q)
		return append([]adroit.Finding{first}, slices.DeleteFunc(others, func(f adroit.Finding) bool { return f.What == err.Error() })...), nil
	}
	if path == "" {
		first.What = "there is no home directory"
	} else if _, err := os.Stat(path); err != nil {
		first.What += " (not there; defaults apply)"
	}
	c, err := e.Client()
	if err != nil {
		o, _ := conf.Options(config.Program{}) // as far as they are known
		return append([]adroit.Finding{first}, adroit.Diagnose(ctx, o, err, q)...), nil
	}
	found, err := c.Doctor(ctx, q)
	return append([]adroit.Finding{first}, found...), err
}

// releases is the address of the newest release; ADROIT_RELEASES is another place.
const releases = "https://api.github.com/repos/adroit-run/adroit/releases/latest"

// maxRelease bounds what is read about a release, in bytes.
const maxRelease = 1 << 20

// NewUpdate returns the command adroit update.
func NewUpdate(e *kit.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "update",
		Short: "Ask whether there is a newer release, and print how to install it",
		Long: "Asks GitHub for the newest release, once, and compares it with this program. Nothing is changed, and\n" +
			"nothing asks by itself. ADROIT_RELEASES is the address of another list of releases.",
		Example: "  adroit update",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			newest, err := newestRelease(cmd.Context(), cmp.Or(e.Getenv("ADROIT_RELEASES"), releases))
			if err != nil {
				return kit.Fail(err, "look at https://github.com/adroit-run/adroit/releases")
			}
			switch own := kit.Read().Version; own {
			case newest:
				fmt.Fprintf(e.Out, "%s is the newest release\n", own)
			default:
				fmt.Fprintf(e.Out, "this is %s; the newest release is %s\n", kit.SanitizeLine(own), kit.SanitizeLine(newest))
				fmt.Fprintln(e.Out, "as it was installed: brew upgrade adroit, the deb or rpm of the release, go install github.com/adroit-run/adroit/cmd/adroit@latest, or")
				fmt.Fprintln(e.Out, "  curl -fsSL https://github.com/adroit-run/adroit/releases/latest/download/install.sh | sh")
			}
			return nil
		},
	}
}

// newestRelease asks for the name of the newest release.
func newestRelease(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", fmt.Errorf("asking for releases: %w", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		if of, ok := errors.AsType[*url.Error](err); ok {
			err = of.Err
		}
		return "", fmt.Errorf("asking %s for releases: %w", req.URL.Host, err)
	}
	defer res.Body.Close()
	var latest struct {
		Tag string `json:"tag_name"`
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("asking for releases: %s answers %s", req.URL.Host, res.Status)
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxRelease)).Decode(&latest); err != nil || latest.Tag == "" {
		return "", fmt.Errorf("asking for releases: %s names none", req.URL.Host)
	}
	return latest.Tag, nil
}
