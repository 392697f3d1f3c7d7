package turn

// AcceptFiles is the tool that brings in what a command made and a person has agreed to.
const AcceptFiles = "accept_files"

// A Held is files that a call's commands made and that are not in the workspace, since
// programs outside the sandbox obey files of their kind.
type Held struct {
	What  string     `json:"what"` // each of them does, to stand behind its name
	Files []HeldFile `json:"files"`
	Kept  []string   `json:"kept"` // where each lies
}

// A HeldFile is one of them, as AcceptFiles takes it.
type HeldFile struct {
	Path       string `json:"path"`
	SHA256     string `json:"sha256"`
	Executable bool   `json:"executable,omitempty"`
}
