//! `gpurace gdb`: gdb with the commands for device threads, on a program that stops at its races.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use clap::Args;
use gpurace_options::VARIABLE;

use super::{Done, own_options, with};
use crate::diagnostic::Error;
use crate::toolchain::World;

/// Arguments of `gpurace gdb`.
#[derive(Args)]
pub struct GdbArgs {
    /// Arguments of gdb, for instance `--args ./program 100`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

/// Becomes gdb.
///
/// # Errors
/// gdb cannot be run, or the script is missing.
pub fn gdb(args: &GdbArgs) -> Result<Done, Error> {
    let script = World::real()?.gdb_script()?;
    let options = with(&own_options("the debugger's program writes none")?, "device=cpu:halt_on_error=break");
    let mut command = Command::new("gdb");
    // gdb takes its commands in this order: the script's come before those of the user.
    command.arg("-ix").arg(script).args(&args.arguments).env(VARIABLE, options);
    let error = command.exec();
    Err(Error::new(format!("cannot run `gdb`: {error}")).hint("install it with `apt-get install gdb`"))
}
