package unixonly

// The compiler prints this name.
var _ = adroit_needs_Linux_or_macOS__on_Windows_use_WSL
