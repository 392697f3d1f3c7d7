// Package cliagent has the command-line agents claude, codex, gemini and opencode as
// models. Such a program works in the directory of a job with tools of its own until
// it has an answer; docs/cli-agents.md says how each is restricted. Others are driven
// as the user's configuration says: see pkg/config.
package cliagent
