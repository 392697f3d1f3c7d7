// Package trust names what a Client reports of the record of what an operator
// trusts in workspaces: agents, pipelines, skills and instructions, each by its
// content. adroit.Options.Trust is the directory that has it.
package trust

type ()
