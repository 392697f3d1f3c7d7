package jobcmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/machine"
	"github.com/adroit-run/adroit/pkg/cli/internal/proposal"
)

// A proposer is adroit fix failures propose with its flags.
type proposer struct {
	e                 *kit.Env
	c                 adroit.Client
	dir, name, accept string
	json              bool
}

func newPropose(e *kit.Env) *cobra.Command {
	p := &proposer{e: e}
	cmd := &cobra.Command{
		Use:   "propose [SIGNATURE|JOB]",
		Short: "Propose a pipeline for a failure that comes again",
		Long: "Writes a pipeline for a failure that was met in three jobs or more, or for the one that is\n" +
			"named: it runs the command, repairs it by what has helped, and runs it again. No model is\n" +
			"asked. The file is checked and shown as a diff; at a terminal you accept or decline it, and\n" +
			"else --accept with the letters that are shown does. What is accepted is written to\n" +
			".adroit/pipelines and trusted as it is; nothing else of the project is.",
		Example: "  adroit fix failures propose\n  adroit fix failures propose J1M823TPCXY6MM --name regenerate",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if p.c, err = e.Client(); err != nil {
				return err
			}
			if p.dir, err = kit.Directory(p.dir); err != nil {
				return err
			}
			return p.run(cmd.Context(), strings.Join(args, ""))
		},
	}
	f := cmd.Flags()
	f.StringVarP(&p.dir, "dir", "C", ".", "the directory of the project")
	f.StringVar(&p.name, "name", "", "the pipeline's name, instead of one made from the command")
	f.StringVar(&p.accept, "accept", "", "write the proposal if it still is the one with these letters")
	kit.JSONFlag(cmd, &p.json)
	return cmd
}

// A proposed is a pipeline to accept.
type proposed struct {
	proposal.Case
	Name   string `json:"name"`
	File   string `json:"file"`
	Text   string `json:"text"`
	Accept string `json:"accept"` // what --accept takes
}

func (p *proposer) run(ctx context.Context, which string) error {
	list, err := p.c.Failures(ctx, adroit.FailureQuery{Project: p.dir})
	if err != nil {
		return err
	}
	cases := proposal.Cases(list)
	var one proposal.Case
	if which != "" {
		if one, err = proposal.Find(cases, list, which); err != nil {
			return kit.Fail(err, hint.Command("fix failures")+" lists what is remembered")
		}
	} else {
		often := slices.DeleteFunc(cases, func(c proposal.Case) bool { return c.Jobs < proposal.Often || c.Lacks != "" })
		if len(often) != 1 {
			return p.choose(often)
		}
		one = often[0]
	}
	got, err := p.propose(ctx, one)
	if err != nil {
		return err
	}
	return p.decide(ctx, got)
}

// choose lists the failures that there are proposals for.
func (p *proposer) choose(often []proposal.Case) error {
	if p.json {
		return kit.JSON(p.e.Out, often)
	}
	if len(often) == 0 {
		fmt.Fprintf(p.e.Out, "no failure was met in %d jobs or more with something that helped\n", proposal.Often)
		return nil
	}
	var t kit.Table
	for _, c := range often {
		t.Row(c.Signature, kit.Plural(c.Jobs, "job"), kit.Ago(p.e.Now(), c.Last), kit.SanitizeLine(c.Command), kit.SanitizeLine(c.Helped))
	}
	t.Write(p.e.Out)
	fmt.Fprintln(p.e.Err, hint.Command("fix failures propose SIGNATURE")+" proposes a pipeline for one")
	return nil
}

// propose drafts and checks a pipeline under a name that is free, or the one that is
// asked for.
func (p *proposer) propose(ctx context.Context, c proposal.Case) (got proposed, err error) {
	got = proposed{Case: c, Name: p.name}
	if got.Name == "" {
		if got.Name, err = p.freeName(ctx, c); err != nil {
			return got, err
		}
	}
	if got.Text, err = c.Pipeline(got.Name); err != nil {
		return got, kit.Fail(fmt.Errorf("no pipeline can be proposed: %w", err), hint.Command("fix failures")+" lists what is remembered")
	}
	got.File = configs.PipelinesDir + "/" + got.Name + ".yaml"
	report, err := p.c.LintPipelines(ctx, adroit.LintRequest{Scope: adroit.Scope{Dir: p.dir}, Files: []adroit.LintFile{{Name: got.File, Text: []byte(got.Text)}}})
	if err == nil {
		err = report.Problems.Err()
	}
	if err != nil {
		return got, kit.Fail(fmt.Errorf("no pipeline can be proposed: %w", err), "")
	}
	return got, nil
}

// freeName returns a name that no pipeline has, unless it is this proposal, accepted
// before.
func (p *proposer) freeName(ctx context.Context, c proposal.Case) (string, error) {
	all, err := p.c.Pipelines(ctx, adroit.Scope{Dir: p.dir, Trust: true})
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	name := c.Name()
	for i := 2; ; i++ {
		file := configs.PipelinesDir + "/" + name + ".yaml"
		text, _ := c.Pipeline(name) // why there is none is found out later
		old, err := machine.Read(root, file)
		taken := slices.ContainsFunc(all.Items, func(q adroit.PipelineInfo) bool { return q.Name == name })
		if errors.Is(err, fs.ErrNotExist) && !taken || err == nil && string(old) == text {
			return name, nil
		}
		if i > 99 {
			return "", kit.Fail(errors.New("too many pipelines have such a name"), "choose one by --name")
		}
		name = fmt.Sprintf("%s-%d", c.Name(), i)
	}
}

// decide shows a proposal and writes it if a person accepts it.
func (p *proposer) decide(ctx context.Context, got proposed) error {
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	old, err := machine.Read(root, got.File)
	there := err == nil
	sum := sha256.Sum256([]byte(got.File + "\x00" + string(old) + "\x00" + got.Text))
	got.Accept = hex.EncodeToString(sum[:6]) // of all that is shown
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case there && string(old) == got.Text && !p.json:
		fmt.Fprintf(p.e.Out, "kept     %s is as it would be proposed\n", got.File)
		return nil
	case p.accept != "" && p.accept != got.Accept:
		return kit.Fail(errors.New("the proposal is another one now, or another file is there"), hint.Command("fix failures propose %s", got.Signature)+" shows it again")
	}
	if p.json {
		if err := kit.JSON(p.e.Out, got); err != nil || p.accept == "" {
			return err
		}
	} else {
		from := "/dev/null"
		if there {
			from = got.File
		}
		fmt.Fprint(p.e.Out, kit.Sanitize(udiff.Unified(from, got.File, string(old), got.Text)))
	}
	if p.accept == "" {
		if !p.e.Interactive() {
			fmt.Fprintf(p.e.Err, "nothing was written; to accept it as it is:\n  %s\n", hint.Command("fix failures propose %s --name %s --accept %s", got.Signature, got.Name, got.Accept))
			return nil
		}
		fmt.Fprintf(p.e.Err, "write it to %s, and trust it? [y]es, [n]o: ", got.File)
		word, err := kit.NewLineReader(ctx, p.e.In).ReadLine()
		if w := strings.ToLower(strings.TrimSpace(word)); err != nil || w != "y" && w != "yes" {
			return kit.Fail(errors.New("declined; nothing was written"), "")
		}
	}
	return p.write(ctx, root, got, old, there)
}

// write writes what was accepted, unless somebody else has written there since it was
// shown, and has it trusted.
func (p *proposer) write(ctx context.Context, root *os.Root, got proposed, old []byte, there bool) error {
	file := machine.File{Name: got.File, Text: got.Text}
	var err error
	if there {
		err = machine.Replace(root, file, old)
	} else if err = machine.Create(root, file); errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s has changed meanwhile, and is kept", got.File)
	}
	if err != nil {
		return err
	}
	if err := machine.Trust(ctx, p.c, p.dir, file); err != nil {
		return err
	}
	if !p.json {
		fmt.Fprintf(p.e.Out, "written  %s\n", got.File)
		fmt.Fprintf(p.e.Err, "%s runs it\n", hint.Command("run %s", got.Name))
	}
	return nil
}
