//! The extension for VS Code: what its manifest says fits what the tools print.
