package adroit

import (
	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/process"
)

// What is implemented below internal/ and appears in what this package exports.
type (
	// An Invocation is a call of a tool that is about to happen: Step, At, Tool, Env and
	// Args.
	Invocation = host.Invocation
	// A ToolHandler performs a call; Callbacks.Middleware wraps one in another. It is a
	// func(context.Context, Invocation) (tools.Result, error).
	ToolHandler = host.ToolHandler
	// A Hook is an operator's program that runs before or after calls of tools, or at
	// the end of runs: When, Tools, Status, Command, Timeout and OnError.
	Hook = hooks.Hook
	// CallModes knows how models call tools, for a ModelSource.
	CallModes = host.CallModes

	// A JobConfig is what a runner must know of a job and the job's input does not
	// hold: the address of its provider, trust, recording and sandbox.
	JobConfig = jobdir.Config
	// SandboxOptions are how commands are confined.
	SandboxOptions = process.SandboxOptions
	// A LanguageServer is a program that checks the files of a language.
	LanguageServer = lsp.Server

	// ToolServers have tools that are not part of this program.
	ToolServers = turn.Servers
	// A ToolServerInfo describes a server, a ToolServerReport its tools too.
	ToolServerInfo   = turn.Info
	ToolServerReport = turn.Report

	// A Change is what a job has made of one file.
	Change = ledger.Change
	// A Skipped is a file that an undo or a merge left alone, and why.
	Skipped = ledger.Skipped
	// A Worktree is the git worktree of a job.
	Worktree = worktree.Worktree
)
