//! The steps of a plan, and how `-###` and `-v` print them.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use gpurace_abi::plugin::PassConfig;

use super::{Failure, GpuFiles};
use crate::args::Input;
use crate::part;

/// Arguments with more bytes than this travel in a response file. The system allows about 2 MiB for arguments
/// and environment.
pub const LONGEST_COMMAND: usize = 256 * 1024;

/// The steps to run, in order. The first failure ends the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Run clang with gclang's own streams.
    Clang(ToolCommand),
    /// Link a host image. The linker's errors are explained to the user.
    Image {
        /// The link.
        command: ToolCommand,
        /// The CUDA source, as the user named it.
        source: String,
        /// True for the device code of a link. `source` is then the program.
        linked: bool,
    },
    /// Write a copy of a toolkit header that clang can read.
    Header {
        /// The toolkit's header.
        from: PathBuf,
        /// The copy.
        to: PathBuf,
    },
    /// Write a file system for clang, in which CUDA's headers go before those of the same name.
    Overlay {
        /// The file's text.
        text: String,
        /// The file.
        to: PathBuf,
    },
    /// Write the container: host image, description, proofs, code for GPUs.
    Container {
        /// The host image, if there is one.
        image: Option<PathBuf>,
        /// The description of the module.
        meta: PathBuf,
        /// Protocols and verdicts. The file does not exist if the prover did not run.
        proofs: PathBuf,
        /// The files for GPUs, one item for each architecture.
        gpus: Vec<GpuFiles>,
        /// The reason why the requested code for a GPU cannot be made, and whether to tell the user.
        no_gpu: Option<(String, Failure)>,
        /// The file to write.
        output: PathBuf,
    },
    /// Make code for a GPU from the plugin's output.
    Gpu {
        /// Makes PTX from bitcode.
        ptx: ToolCommand,
        /// Makes machine code from PTX.
        sass: Option<ToolCommand>,
        /// The files.
        files: GpuFiles,
        /// The CUDA source, as the user named it.
        source: String,
        /// What to do after a failure.
        failure: Failure,
    },
    /// Print the pass's warnings and remarks on the user's code.
    Diagnostics {
        /// The file with them. It does not exist if there are none.
        file: PathBuf,
        /// True if warnings end the build.
        errors: bool,
        /// The plugin's configuration for linked device code. Warnings end the build also if it says so.
        settings: Option<PathBuf>,
    },
    /// Write several texts to one file.
    Joined {
        /// The texts.
        parts: Vec<PathBuf>,
        /// The file. `None` is standard output.
        output: Option<PathBuf>,
    },
    /// Write an archive of objects.
    Archive {
        /// The run of `ar`.
        command: ToolCommand,
        /// The archive. An old one goes first.
        output: PathBuf,
    },
    /// Pack a unit's device code for its object.
    Unit {
        /// The device code.
        bitcode: PathBuf,
        /// The names in it.
        symbols: PathBuf,
        /// The settings that it was compiled with.
        unit: Box<part::Unit>,
        /// The file to write.
        container: PathBuf,
        /// The response file to write, which declares the names.
        declarations: PathBuf,
    },
    /// Take the units' device code out of a trial link.
    Units {
        /// The files to write.
        files: part::TrialLinkFiles,
        /// The plugin's configuration, which the units may change.
        config: Box<PassConfig>,
        /// The GPU architecture if there is no unit.
        arch: String,
    },
    /// Run clang over linked device code.
    Linked {
        /// The run of clang.
        command: ToolCommand,
        /// The file with the plugin's configuration.
        settings: PathBuf,
    },
}

/// A program with its arguments and additions to its environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables to set.
    pub env: Vec<(String, String)>,
}

impl ToolCommand {
    /// True if the arguments must travel in a response file.
    pub fn is_long(&self) -> bool {
        self.args.iter().map(|arg| arg.len() + 1).sum::<usize>() > LONGEST_COMMAND
    }

    pub(super) fn arg(&mut self, arg: impl Into<OsString>) {
        self.args.push(arg.into());
    }

    pub(super) fn args(&mut self, args: impl IntoIterator<Item = impl Into<OsString>>) {
        self.args.extend(args.into_iter().map(Into::into));
    }

    /// Adds an input. If its language is not the one in force, `-x` comes first.
    pub(super) fn input(&mut self, path: &OsStr, language: Option<&str>, in_force: &mut Option<String>) {
        if in_force.as_deref() != language {
            self.args(["-x", language.unwrap_or("none")]);
            *in_force = language.map(str::to_owned);
        }
        self.path(path);
    }

    /// Adds the one CUDA source of a compilation.
    pub(super) fn source(&mut self, input: &Input) {
        self.args(["-x", "cuda"]);
        self.path(&input.path);
    }

    /// Adds a file name. After the user's `--` it may look like an option.
    pub(super) fn path(&mut self, path: &OsStr) {
        if path != "-" && path.to_string_lossy().starts_with(['-', '@']) {
            self.arg(Path::new(".").join(path));
        } else {
            self.arg(path);
        }
    }

    fn render(&self) -> String {
        let mut line = String::new();
        for (name, value) in &self.env {
            // Writing to a string cannot fail.
            let _ = write!(line, " {name}='{}'", value.replace('\'', r"'\''"));
        }
        for word in std::iter::once(self.program.as_os_str()).chain(self.args.iter().map(OsString::as_os_str))
        {
            let word = word.to_string_lossy().replace('\\', r"\\").replace('"', "\\\"");
            let _ = write!(line, " \"{word}\"");
        }
        line + "\n"
    }
}

impl Plan {
    /// Returns the steps as `-###` and `-v` print them, in clang's form.
    pub fn render(&self) -> String {
        self.steps.iter().map(Step::render).collect()
    }
}

impl Step {
    /// Returns the step in clang's form.
    pub fn render(&self) -> String {
        match self {
            Step::Clang(command)
            | Step::Image { command, .. }
            | Step::Linked { command, .. }
            | Step::Archive { command, .. } => command.render(),
            Step::Header { from, to } => {
                format!(" # header \"{}\": from \"{}\"\n", to.display(), from.display())
            }
            Step::Overlay { to, .. } => format!(" # file system \"{}\"\n", to.display()),
            Step::Container { image, meta, proofs, gpus, output, .. } => {
                let mut line = format!(" # container \"{}\":", output.display());
                let mut add = |what: &str, path: &Path| {
                    // Writing to a string cannot fail.
                    let _ = write!(line, " {what} \"{}\",", path.display());
                };
                if let Some(image) = image {
                    add("image", image);
                }
                for gpu in gpus {
                    add("PTX", &gpu.ptx);
                }
                add("description", meta);
                add("proofs", proofs);
                line.trim_end_matches(',').to_owned() + "\n"
            }
            Step::Gpu { ptx, sass, .. } => {
                ptx.render() + &sass.as_ref().map(ToolCommand::render).unwrap_or_default()
            }
            Step::Diagnostics { file, .. } => {
                format!(" # diagnostics \"{}\"\n", file.display())
            }
            Step::Joined { parts, .. } => {
                let names = parts.iter().map(|part| format!(" \"{}\"", part.display()));
                format!(" # joined:{}\n", names.collect::<String>())
            }
            Step::Unit { bitcode, container, .. } => {
                format!(" # container \"{}\": unit \"{}\"\n", container.display(), bitcode.display())
            }
            Step::Units { files, .. } => format!(
                " # device code of \"{}\": \"{}\", \"{}\"\n",
                files.trial.display(),
                files.main.display(),
                files.others.display()
            ),
        }
    }
}
