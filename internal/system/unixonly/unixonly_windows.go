package unixonly

// Its name is what the compiler prints.
var _ = adroit_needs_Linux_or_macOS__on_Windows_use_WSL
