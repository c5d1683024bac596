//! What a plan consists of, and how `-###` and `-v` print it.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{Failure, GpuFiles};
use crate::args::Input;
use crate::config::PassConfig;
use crate::part;

/// Arguments of more bytes than this travel in a response file; the system
/// takes about 2 MiB with the environment.
pub const LONGEST_COMMAND: usize = 256 * 1024;

/// What to run, in order; the first failure ends it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Run clang, with our streams.
    Clang(ToolCommand),
    /// Link a host image; what the linker says is put in the user's terms.
    Image {
        /// The link.
        command: ToolCommand,
        /// The CUDA source, as the user named it.
        source: String,
        /// It is several sources' code, and this is the program.
        linked: bool,
    },
    /// Write a copy of a header of the toolkit, adapted to clang.
    Header {
        /// The toolkit's.
        from: PathBuf,
        /// The copy.
        to: PathBuf,
    },
    /// Pack image and description for the fat-binary slot.
    Container {
        /// The host image, if one was asked for.
        image: Option<PathBuf>,
        /// The description of the module.
        meta: PathBuf,
        /// What the prover knows; the file is missing where nothing was asked.
        proofs: PathBuf,
        /// What was made for GPUs, for each architecture.
        gpus: Vec<GpuFiles>,
        /// Why nothing is, where it was to be, and whether the user is told.
        no_gpu: Option<(String, Failure)>,
        /// The file to write.
        output: PathBuf,
    },
    /// Make code for a GPU of what the plugin wrote.
    Gpu {
        /// From bitcode to PTX.
        ptx: ToolCommand,
        /// From PTX to the processor's own code, where the toolkit can.
        sass: Option<ToolCommand>,
        /// The files.
        files: GpuFiles,
        /// The CUDA source, as the user named it.
        source: String,
        /// What becomes of a failure.
        failure: Failure,
    },
    /// Print what the pass has to say about the user's code.
    Diagnostics {
        /// Its words; the file is missing where there are none.
        file: PathBuf,
        /// Warnings end the build.
        errors: bool,
        /// They also do where this says so: what the plugin was told of linked device code.
        settings: Option<PathBuf>,
    },
    /// Write these texts, one behind the other.
    Joined {
        /// The texts.
        parts: Vec<PathBuf>,
        /// Where to; standard output where it is not said.
        output: Option<PathBuf>,
    },
    /// Pack a separately compiled unit's device code for its object.
    Unit {
        /// The device code.
        bitcode: PathBuf,
        /// The names in it.
        symbols: PathBuf,
        /// What was asked for it.
        unit: Box<part::Unit>,
        /// The file to write.
        container: PathBuf,
        /// The response file to write, which declares the names.
        declarations: PathBuf,
    },
    /// Take separately compiled device code out of a trial link.
    Units {
        /// Where to.
        files: part::TrialLinkFiles,
        /// What the plugin is told where no unit says otherwise.
        config: Box<PassConfig>,
        /// The GPU architecture where there is no unit.
        arch: String,
    },
    /// Run clang over linked device code.
    Linked {
        /// clang.
        command: ToolCommand,
        /// What the plugin is told.
        settings: PathBuf,
    },
}

/// A program with its arguments and what is added to its environment.
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
    /// Whether the arguments must travel in a response file.
    pub fn is_long(&self) -> bool {
        self.args.iter().map(|arg| arg.len() + 1).sum::<usize>() > LONGEST_COMMAND
    }

    pub(super) fn arg(&mut self, arg: impl Into<OsString>) {
        self.args.push(arg.into());
    }

    pub(super) fn args(&mut self, args: impl IntoIterator<Item = impl Into<OsString>>) {
        self.args.extend(args.into_iter().map(Into::into));
    }

    /// An input, after `-x` where its language is not the one in force.
    pub(super) fn input(&mut self, path: &OsStr, language: Option<&str>, in_force: &mut Option<String>) {
        if in_force.as_deref() != language {
            self.args(["-x", language.unwrap_or("none")]);
            *in_force = language.map(str::to_owned);
        }
        self.path(path);
    }

    /// The one CUDA source of a compilation.
    pub(super) fn source(&mut self, input: &Input) {
        self.args(["-x", "cuda"]);
        self.path(&input.path);
    }

    /// A file name, which may look like an option (after `--` it may).
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
        let program = [self.program.as_os_str()];
        for word in program.into_iter().chain(self.args.iter().map(OsString::as_os_str)) {
            let word = word.to_string_lossy().replace('\\', r"\\").replace('"', "\\\"");
            let _ = write!(line, " \"{word}\"");
        }
        line + "\n"
    }
}

impl Plan {
    /// The steps as `-###` and `-v` print them, in clang's form.
    pub fn render(&self) -> String {
        self.steps.iter().map(Step::render).collect()
    }
}

impl Step {
    /// One line, in clang's form.
    pub fn render(&self) -> String {
        match self {
            Step::Clang(command) | Step::Image { command, .. } | Step::Linked { command, .. } => {
                command.render()
            }
            Step::Header { from, to } => {
                format!(" # header \"{}\": from \"{}\"\n", to.display(), from.display())
            }
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
