// Package cliagent has the command-line agents claude, codex, gemini and opencode as
// models. Such a program works in the directory of a job with tools of its own until
// it has an answer; docs/cli-agents.md says how each is restricted. Others are driven
// as the user's configuration says: see pkg/config.
package cliagent

import "github.com/adroit-run/adroit/internal/llm/cliagent"

// A Config describes one more agent, besides those that are known.
type Config = cliagent.Config

// Programs are the agents, as the models of one provider.
type Programs = cliagent.Programs

// Open returns the agents as the models of one provider:
//
//	cli, err := cliagent.Open()
//	rt, err := adroit.Open(ctx, adroit.Options{Models: map[string]llm.Model{"cli": cli}, Model: "cli/claude"})
//
// The model's name may follow after a colon: cli/claude:haiku. Open does not look
// whether the programs are there.
func Open(more ...Config) (Programs, error) { return cliagent.Open(more...) }
