// Package cli is the command line: the place where stores, models, tools and
// agents meet.
//
// A program with its own tools is three lines:
//
//	func main() {
//		cli.Program{Parts: parts.All(), Tools: []tools.Tool{wordcount.Tool}}.Main()
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
	"io"
	"math"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/acp"
	"github.com/adroit-run/adroit/pkg/cli/internal/define"
	"github.com/adroit-run/adroit/pkg/cli/internal/jobcmd"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/cli/internal/machine"
	"github.com/adroit-run/adroit/pkg/cli/internal/serve"
	"github.com/adroit-run/adroit/pkg/cli/internal/work"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Main runs the program with these parts and ends the process.
func Main(parts ...adroit.Part) { Program{Parts: parts}.Main() }

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

// Command returns the command tree, for pages and manuals made from it. Run executes it with
// the right exit codes and hints: [Program.Commands] adds to it.
func (p Program) Command() *cobra.Command { return newApp(p).root() }

// root builds the command tree.
func (a *app) root() *cobra.Command {
	e, name := a.env(), cmp.Or(a.Name, "adroit")
	root := &cobra.Command{
		Use:   name,
		Short: "Run LLM agents as durable jobs",
		Long: name + " runs LLM agents as durable jobs. It checks an agent's definition of done\n" +
			"itself, and a job whose process was killed continues where it stopped.\n\n" +
			"Without a command it is " + name + " chat: " + name + " \"explain this project\" begins with that message.",
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
	root.PersistentFlags().StringVar(&a.engine, "engine", "", "what runs the workflows of jobs: local, or temporal, for several machines (config: engine)")
	root.PersistentPreRunE = a.prepare
	conversation, bare := work.NewChat(e)
	root.Flags().AddFlagSet(conversation.Flags())
	version := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			_, err := fmt.Fprintln(a.Stdout, kit.Read().Line(name))
			return err
		}
		if len(args) > 0 {
			if err := slash(root, args[0]); err != nil {
				return err
			}
		}
		return bare(cmd, args)
	}
	root.SetHelpCommand(helpCommand())
	a.addCommands(e, root, conversation)
	wrapFlags(root)
	rename(root, name)
	fold(root, a.Stdout, a.Getenv)
	completions(e, root)
	return root
}

// examples has a use of each command that only collects others.
var examples = map[string]string{
	"agents": "agents show reviewer", "config": "config set model ollama/qwen3:8b", "git": "git commit", "jobs": "jobs diff last",
	"mcp": "mcp add files -- npx -y @modelcontextprotocol/server-filesystem .", "models": "models check ollama/qwen3:8b",
	"pipelines": "pipelines lint", "tools": "tools show edit",
}

// addCommands adds the commands, those that belong together under one heading.
func (a *app) addCommands(e *kit.Env, root, conversation *cobra.Command) {
	group := func(title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
		for _, c := range commands {
			if c.GroupID = title; c.Example == "" {
				c.Example = "  adroit " + examples[c.Name()]
			}
		}
		root.AddCommand(commands...)
	}
	answer := kit.Under(work.NewAnswer(e), work.NewApprove(e), work.NewDeny(e), jobcmd.NewSignal(e))
	group("Work with agents", kit.Under(work.NewRun(e), work.NewCompare(e)), conversation, work.NewContinue(e),
		kit.Under(work.NewFix(e), jobcmd.NewFailures(e), jobcmd.NewStats(e)), answer,
		kit.Under(jobcmd.NewJobs(e), jobcmd.NewBackup(e), jobcmd.NewRestore(e)),
		kit.Noun("git", "Have an agent word a commit or a pull request, and make it", work.NewCommit(e), work.NewPR(e)))
	group("What they are made of", kit.Under(define.NewAgents(e), define.NewSkills(e), jobcmd.NewMemory(e)),
		define.NewTools(e), machine.NewModels(e), define.NewPipelines(e))
	group("This machine and project", machine.NewSetup(e),
		kit.Under(machine.NewConfig(e), machine.NewTrust(e), machine.NewLogin(e), machine.NewLogout(e)), machine.NewDoctor(e))
	group("Other programs and machines", define.NewMCP(e), kit.Under(serve.NewServe(e), acp.New(e)), a.newWorker())
	root.AddCommand(a.Commands...)
	for _, c := range []*cobra.Command{work.NewDemo(e), kit.NewVersion(e), machine.NewUpdate(e), newCompletion()} {
		c.Hidden = true
		root.AddCommand(c)
	}
	addMoved(root)
}

// lostOutput is the fault of a result that could not be printed.
func lostOutput(err error) error {
	return kit.Fail(fmt.Errorf("standard output: %w", err), "what was printed is incomplete; jobs themselves are kept, see "+hint.Command("jobs"))
}

// exitOf finds in a chain of errors what decides about the exit code: an error
// with one, or an error of the runtime. It is nil if neither is there.
func exitOf(err error) *kit.Error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		switch t := e.(type) {
		case *kit.Error:
			return t
		case *problem.Error:
			return exitOfRuntime(t)
		}
	}
	if x, ok := errors.AsType[*kit.Error](err); ok { // of several errors
		return x
	}
	if e := new(problem.Error); errors.As(err, &e) {
		return exitOfRuntime(e)
	}
	return nil
}

func exitOfRuntime(e *problem.Error) *kit.Error {
	code := kit.Failed
	if e.Kind == problem.Invalid || e.Kind == problem.NotFound {
		code = kit.Usage
	}
	return &kit.Error{Code: code, Err: e, Hint: e.Hint}
}

// complain prints what is wrong and what to do next.
func complain(w io.Writer, hide *secret.Redactor, err error) {
	if many, ok := errors.AsType[config.Faults](err); ok {
		for _, fault := range many {
			complain(w, hide, fault)
		}
		return
	}
	words, _ := hide.String(err.Error())
	fmt.Fprintf(w, "%s: error: %s\n", hint.Program(), kit.Sanitize(words))
	help := problem.Hint(err)
	if x := exitOf(err); x != nil && x.Hint != "" {
		help = x.Hint
	}
	if e := new(os.SyscallError); help == "" && errors.As(err, &e) && e.Syscall == "getwd" {
		help = "the current directory has been removed: cd to another one"
	}
	for _, h := range strings.Split(help, "\n") {
		if h != "" {
			fmt.Fprintf(w, "%s: hint: %s\n", hint.Program(), kit.Sanitize(h))
		}
	}
}

// isUsage recognises what cobra itself says about arguments: it has no type.
func isUsage(err error) bool {
	return slices.ContainsFunc([]string{"accepts ", "requires at least", "unknown command", "invalid argument", "if any flags in the group"}, func(s string) bool { return strings.HasPrefix(err.Error(), s) })
}

// misused explains for invalid arguments what cmd takes instead.
// Counting them is cobra's, in words for programmers: they are replaced.
func misused(cmd *cobra.Command, err error) *kit.Error {
	_, args, _ := strings.Cut(cmd.Use, " ")
	if w := err.Error(); strings.HasPrefix(w, "accepts ") || strings.HasPrefix(w, "requires at least") || strings.HasPrefix(w, "unknown command") {
		needs, _, _ := strings.Cut(args, " [")
		switch n := cmd.Flags().NArg(); {
		case args == "":
			err = fmt.Errorf("%s takes no arguments", cmd.CommandPath())
		case n == 0:
			err = fmt.Errorf("%s needs %s", cmd.CommandPath(), needs)
		default:
			err = fmt.Errorf("%s cannot be called with %s", cmd.CommandPath(), kit.Plural(n, "argument"))
		}
	}
	help := fmt.Sprintf("usage: %s\n%s --help has the details", strings.TrimSpace(cmd.CommandPath()+" "+args), cmd.CommandPath())
	if strings.HasPrefix(cmd.Use, cmd.Name()+" ID") && cmd.HasParent() && cmd.Parent().Name() == "jobs" {
		help = cmd.CommandPath() + " last is about the newest job of this directory\n" + help
	}
	return &kit.Error{Code: kit.Usage, Err: err, Hint: help}
}

// helpCommand is cobra's, but what it cannot find is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "help [COMMAND]",
		Short:  "Help about any command",
		Hidden: true,
		Args:   cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err == nil && of.Hidden && of.DisableFlagParsing { // it only names another one
				return of.RunE(of, nil)
			}
			if err == nil && len(rest) == 0 {
				of.InitDefaultHelpFlag()
				return of.Help()
			}
			if of == nil || len(rest) == 0 {
				of, rest = cmd.Root(), args
			}
			return kit.Group(of, rest)
		},
	}
}

// wrapFlags checks the values of flags and arguments of every command of the tree in the
// same way.
func wrapFlags(cmd *cobra.Command) {
	// A second value for a flag that takes one is refused: where two could
	// stand, the later one may have been smuggled in. So is an empty one, which would
	// mean all, none or the default where a script had a variable that was not set.
	forOwnFlags(cmd, func(f *pflag.Flag) {
		if list, many := f.Value.(pflag.SliceValue); many {
			if _, wrapped := f.Value.(*several); !wrapped {
				f.Value = &several{f.Value, list}
				if f.DefValue == "[]" { // which help would show, as the type is hidden
					f.DefValue = ""
				}
			}
			return
		}
		if _, wrapped := f.Value.(*single); !wrapped {
			f.Value = &single{Value: f.Value, zero: kit.ZeroAllowed(f), empty: kit.EmptyAllowed(f)}
			if f.DefValue == "0s" { // which help would show, as the type is hidden
				f.DefValue = ""
			}
		}
	})
	if takes := cmd.Args; takes != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := takes(cmd, args); err != nil {
				return err
			}
			return emptyArg(cmd, args)
		}
	}
	for _, c := range cmd.Commands() {
		wrapFlags(c)
	}
}

// emptyArg refuses an empty name of a file or setting, as where a script had a variable that
// was not set.
func emptyArg(cmd *cobra.Command, args []string) error {
	names := strings.Fields(cmd.Use)[1:]
	for i, name := range names[:min(len(names), len(args))] {
		if args[i] == "" && slices.Contains([]string{"FILE", "KEY"}, name) {
			return misused(cmd, fmt.Errorf("%s is empty", name))
		}
	}
	return nil
}

// forOwnFlags calls do for the flags that cmd declares. Unlike LocalFlags it does not
// merge the flags of all parent commands first, for each command of the tree.
func forOwnFlags(cmd *cobra.Command, do func(*pflag.Flag)) {
	cmd.Flags().VisitAll(do)
	cmd.PersistentFlags().VisitAll(do)
}

// single is a flag that may be given once.
type single struct {
	pflag.Value
	given bool
	zero  bool // 0 can be meant
	empty bool // and so can no text
}

var errEmpty = errors.New("it is empty")

// several is a flag that may be given more than once, or with several values in one.
type several struct {
	pflag.Value
	pflag.SliceValue
}

func (s *several) Set(v string) error {
	if strings.TrimSpace(v) == "" {
		return errEmpty
	}
	return s.Value.Set(v)
}

func (s *single) Set(v string) error {
	if s.given {
		return errors.New("given twice")
	}
	if v == "" && !s.empty {
		return errEmpty
	}
	s.given = true
	if err := s.Value.Set(v); err != nil {
		return err
	}
	return s.bounded()
}

// bounded refuses a number that nothing can be made of. Zero is the value of a flag that is
// left out: nobody means it.
func (s *single) bounded() error {
	value, zero := 0.0, false
	switch s.Type() {
	case "duration":
		d, _ := time.ParseDuration(s.String()) // it was printed by one
		value = float64(d)
	case "int", "int64", "float64":
		value, _ = strconv.ParseFloat(s.String(), 64)
	default:
		return nil
	}
	zero = value == 0 && !s.zero
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return &outOfBounds{"it must be a number"}
	case value < 0 && s.zero:
		return &outOfBounds{"it must not be less than 0"}
	case value < 0 || zero:
		return &outOfBounds{"it must be more than 0"}
	}
	return nil
}

// outOfBounds is a number that a flag cannot have, and what it must be.
type outOfBounds struct{ words string }

func (e *outOfBounds) Error() string { return e.words }

// nearest returns the name that was most likely meant, or "".
func nearest(word string, names []string) string { return spelling.Nearest(word, names) }

// maxHelp bounds the width of help on a wide terminal, in columns.
const maxHelp = 100

// fold fits help to the terminal that out is, and puts an example below each command of root.
// Anywhere else than on a terminal lines stay as they were written.
func fold(root *cobra.Command, out io.Writer, getenv func(string) string) {
	cols := min(kit.NewScreen(out, getenv).Width(), maxHelp)
	usage := root.UsageFunc()
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		// A template of cobra's would do it, too, and keep all methods of all types in the program.
		var b strings.Builder
		to := cmd.OutOrStderr()
		cmd.SetOut(&b)
		err := usage(cmd)
		cmd.SetOut(to)
		text := b.String()
		for _, flags := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
			if list := strings.TrimRight(flags.FlagUsages(), " \n"); list != "" {
				text = strings.Replace(text, list, flagHelp(flags, max(cols-1, 0)), 1)
			}
		}
		if !cmd.HasParent() {
			text = withExamples(cmd, text)
		}
		_, lost := io.WriteString(to, text)
		return cmp.Or(err, lost)
	})
	if cols > 0 {
		foldLong(root, cols)
	}
}

// rare are flags that few commands in daily use need: help has them below the others.
var rare = []string{"approve", "at-once", "base-url", "calling", "data-dir", "deltas", "effort", "engine", "host", "key", "label",
	"memory", "plain", "record", "sandbox", "server", "set", "template", "trust-project"}

// flagHelp lists flags, the rare ones of a long list under a heading of their own.
func flagHelp(flags *pflag.FlagSet, cols int) string {
	var daily, others pflag.FlagSet
	daily.SortFlags, others.SortFlags = flags.SortFlags, flags.SortFlags
	flags.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(rare, f.Name) {
			others.AddFlag(f)
		} else {
			daily.AddFlag(f)
		}
	})
	list := func(f *pflag.FlagSet) string { return strings.TrimRight(f.FlagUsagesWrapped(cols), " \n") }
	if !daily.HasAvailableFlags() || !others.HasAvailableFlags() || strings.Count(list(flags), "\n") < 8 {
		return list(flags)
	}
	return list(&daily) + "\n\nMore flags:\n" + list(&others)
}

// withExamples puts below the line of each command in the usage of root its first example.
func withExamples(root *cobra.Command, usage string) string {
	for _, c := range root.Commands() {
		line := fmt.Sprintf("  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
		examples := strings.Split(c.Example, "\n")
		if i := slices.IndexFunc(examples, func(s string) bool { return strings.Contains(s, root.Name()+" ") }); i >= 0 {
			example := strings.TrimSpace(examples[i])
			usage = strings.Replace(usage, line, line+strings.Repeat(" ", c.NamePadding()+5)+example+"\n", 1)
		}
	}
	return usage
}

func foldLong(cmd *cobra.Command, cols int) {
	cmd.Long = kit.Fold(cmd.Long, cols-1)
	for _, c := range cmd.Commands() {
		foldLong(c, cols)
	}
}

// rename replaces adroit in the commands that help pages name by the name of the program.
func rename(root *cobra.Command, name string) {
	if name == "adroit" {
		return
	}
	var commands []string
	for _, c := range root.Commands() {
		commands = append(commands, regexp.QuoteMeta(c.Name()))
	}
	of := regexp.MustCompile(`\badroit( +(?:(?:` + strings.Join(commands, "|") + `)\b|--?[a-z]))`)
	replace := func(text string) string { return of.ReplaceAllString(text, strings.ReplaceAll(name, "$", "$$")+"$1") }
	var all func(*cobra.Command)
	all = func(c *cobra.Command) {
		c.Short, c.Long, c.Example = replace(c.Short), replace(c.Long), replace(c.Example)
		c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = replace(f.Usage) })
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Usage = replace(f.Usage) })
		for _, kid := range c.Commands() {
			all(kid)
		}
	}
	all(root)
}

// catch ends the returned context at the first signal; the second ends the
// process at once. done stops catching and gives the exit code of the signal
// that came, 0 if none did.
func catch(parent context.Context) (ctx context.Context, done func() int) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 4)
	// A reader that went away (| head) is a signal like the others: without
	// this the process would die in the middle of a step.
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(ch, syscall.SIGHUP)
	}
	var first atomic.Int32
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case s := <-ch:
				sig := s.(syscall.Signal)
				if sig == syscall.SIGPIPE && !kit.ReaderGone() {
					continue
				}
				if !first.CompareAndSwap(0, int32(sig)) {
					if sig == syscall.SIGPIPE {
						continue
					}
					os.Exit(kit.OfSignal(sig))
				}
				cancel(&kit.StopError{Signal: sig})
			case <-quit:
				return
			}
		}
	}()
	return ctx, func() int {
		signal.Stop(ch)
		close(quit)
		<-gone
		cancel(nil)
		if s := first.Load(); s != 0 {
			return kit.OfSignal(syscall.Signal(s))
		}
		return 0
	}
}
