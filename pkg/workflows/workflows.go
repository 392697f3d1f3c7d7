// Package workflows lists the workflows that ship beside the agent loop, for
// adroit.Options.Workflows. Their code is below pkg/workflows: short files to
// copy from.
package workflows
