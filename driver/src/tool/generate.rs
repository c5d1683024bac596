//! Generates completions and manual pages from the definitions of the command line.

use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
use crate::diagnostic::{Error, write_file};

/// Returns the completion script for a shell.
pub fn completions(shell: Shell) -> String {
    let mut command = Cli::command();
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "gpurace", &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns the file name and the text of each manual page.
///
/// # Errors
/// The generator failed.
pub fn man_pages() -> std::io::Result<Vec<(String, String)>> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = vec![("gpurace.1".to_owned(), page(command.clone())?)];
    for sub in command.get_subcommands() {
        let name = format!("gpurace-{}", sub.get_name());
        let title = sub.clone().display_name(&name);
        pages.push((format!("{name}.1"), page(title)?));
    }
    Ok(pages)
}

fn page(command: clap::Command) -> std::io::Result<String> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Writes the manual pages and returns their paths, one on each line.
///
/// # Errors
/// The folder or a file cannot be written.
pub fn write_man_pages(dir: &Path) -> Result<String, Error> {
    let cannot = Error::cannot("write", dir);
    std::fs::create_dir_all(dir).map_err(cannot)?;
    let mut written = String::new();
    for (name, text) in man_pages().map_err(cannot)? {
        let path = dir.join(name);
        write_file(&path, text)?;
        written += &format!("{}\n", path.display());
    }
    Ok(written)
}
