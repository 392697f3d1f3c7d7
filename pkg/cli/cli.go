// Package cli is the command line: the place where stores, models, tools and
// agents meet.
//
// A program with its own tools is three lines:
//
//	func main() {
//		cli.Main(append(std.All(), wordcount.Tool)...)
//	}
//
// Everything a command does is also possible from Go with the packages below;
// nothing but wiring, flags and words for people belongs here.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/cli/internal/acp"
	"github.com/adroit-run/adroit/pkg/cli/internal/define"
	"github.com/adroit-run/adroit/pkg/cli/internal/jobcmd"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/machine"
	"github.com/adroit-run/adroit/pkg/cli/internal/serve"
	"github.com/adroit-run/adroit/pkg/cli/internal/work"
	"github.com/adroit-run/adroit/pkg/tools"
)

// Main runs the program with these tools and ends the process.
func Main(ts ...tools.Tool) { Program{Tools: ts}.Main() }

// Main runs the program with the arguments and streams of the process, and ends
// the process.
func (p Program) Main() {
	collectLater()
	hostexec.ForbidCurrent()
	ctx, caught := catch(context.Background())
	p.Stdin, p.Stdout, p.Stderr = os.Stdin, os.Stdout, os.Stderr
	code := p.Run(ctx, os.Args[1:]...)
	if c := caught(); c != 0 && code != kit.Done {
		code = c
	}
	os.Exit(code)
}

// Run executes one command line and returns the exit code. The end of ctx
// stops a running job at its next step, so that it can be resumed.
func (p Program) Run(ctx context.Context, args ...string) int {
	hint.As(p.Name)
	a := newApp(p)
	defer a.close()
	root := a.root()
	root.SetArgs(args)
	ctx = exhaustion.WithNotice(ctx, func(what exhaustion.Resource, _ error) {
		fmt.Fprintln(a.Stderr, hint.Program()+": waiting: "+what.Words())
	})
	cmd, err := root.ExecuteContextC(ctx)
	if err := a.close(); err != nil {
		complain(a.Stderr, a.redactor(), err)
	}
	if errors.Is(a.out.Err(), syscall.EPIPE) {
		return kit.OfSignal(syscall.SIGPIPE) // whoever read the output has gone
	}
	if lost := a.out.Err(); lost != nil && (err == nil || errors.Is(err, lost)) {
		err = lostOutput(lost)
	}
	if err == nil {
		return kit.Done
	}
	f := exitOf(err)
	if stop := new(kit.StopError); errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &stop) {
		f = &kit.Error{Code: kit.OfSignal(stop.Signal), Err: fmt.Errorf("%w before the command had ended", stop)}
	}
	if f == nil {
		f = &kit.Error{Code: kit.Failed, Err: err}
		if isUsage(err) {
			f = misused(cmd, err)
		}
	}
	if f.Err != nil {
		complain(a.Stderr, a.redactor(), f)
	}
	return f.Code
}

// Command is the command tree, for pages and manuals made from it. Run is what
// executes it with the right exit codes and hints: [Program.Commands] adds to it.
func (p Program) Command() *cobra.Command { return newApp(p).root() }

// root builds the command tree.
func (a *app) root() *cobra.Command {
	e, name := a.env(), cmp.Or(a.Name, "adroit")
	root := &cobra.Command{
		Use:   name,
		Short: "Run LLM agents as durable jobs",
		Long: name + " runs LLM agents as durable jobs. It checks an agent's definition of done\n" +
			"itself, and a job whose process was killed continues where it stopped.\n\n" +
			"On a terminal, " + name + " without a command is " + name + " chat.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(flagFault)
	root.PersistentFlags().StringVar(&a.dataDir, "data-dir", "", "keep all state here (or ADROIT_HOME)")
	root.PersistentFlags().StringVar(&a.server, "server", "", "use the adroit server at this URL (or ADROIT_SERVER)")
	root.PersistentPreRunE = a.prepare
	conversation := work.NewChat(e)
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 || !work.Possible(e) {
			return kit.Group(cmd, args)
		}
		conversation.SetContext(cmd.Context())
		return conversation.RunE(conversation, nil)
	}
	root.AddCommand(
		work.New(e), conversation, work.NewContinue(e), work.NewFix(e), work.NewCommit(e), work.NewCompare(e), jobcmd.New(e), jobcmd.NewSignal(e), define.New(e), define.NewPipelines(e), define.NewSkills(e), define.NewTools(e), define.NewMcp(e), jobcmd.NewMemory(e), acp.New(e), machine.NewModels(e),
		machine.NewTrust(e), machine.NewSetup(e), machine.NewLogin(e), machine.NewLogout(e), machine.NewDoctor(e), jobcmd.NewStats(e), jobcmd.NewFailures(e), jobcmd.NewBackup(e), jobcmd.NewRestore(e), work.NewDemo(e), serve.NewServe(e), work.NewBench(e), machine.New(e), kit.New(e), kit.NewCompletion(),
	)
	root.AddCommand(work.NewApprove(e), work.NewDeny(e), work.NewAnswer(e))
	root.SetHelpCommand(helpCommand())
	root.Version = kit.Read().Line(name)
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(work.NewPR(e))
	root.AddCommand(a.Commands...)
	root.Flags().Bool("version", false, "print the version")
	tidy(root)
	rename(root, name)
	fold(root, a.Stdout, a.Getenv)
	completions(e, root)
	return root
}

// lostOutput is the fault of a result that could not be printed.
func lostOutput(err error) error {
	return kit.Fail(fmt.Errorf("standard output: %w", err), "what was printed is incomplete; jobs themselves are kept, see "+hint.Command("jobs"))
}
