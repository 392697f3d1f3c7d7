package stepio

// A Project is what parts of a workspace say about themselves. It is pinned
// with the task: the model is shown a part when a call first touches it, in
// the same words however often the run is interrupted.
type Project struct {
	Dir   string    `json:"dir,omitempty"` // the workspace, absolute, as calls may name it
	Texts []DirText `json:"says,omitempty"`
}

// DirText is the text that holds for a directory of the workspace and all below.
type DirText struct {
	Dir  string `json:"dir"` // relative, with slashes
	Text string `json:"text"`
}
