//! The commands that a command line comes to: a pure function of arguments
//! and toolchain.
//!
//! Where nothing is asked of gpurace, the plan is one run of clang. Else, for
//! each CUDA input:
//!
//! ```text
//! device     clang --cuda-device-only, plugin loaded   → object and description of the device code
//! image      clang -shared                             → host image, an ELF shared object
//! container  image + description + proofs              → what lies in the fat-binary slot
//! host       clang --cuda-host-only                    → object that carries the container
//! ```
//!
//! and one run of clang for all other inputs and the link. Separately compiled
//! device code waits for the link: see [`part`](crate::part).

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::args::{Args, Input, InputKind, Item, Role, SaveTemps};
use crate::clang_options as clang;
use crate::config::{self, Cpu, PassConfig};
use crate::cuda::Origin;
use crate::flags::Exec;
use crate::part;
use crate::toolchain::{COMPATIBILITY_HEADER, Driver, FALLBACK_HEADERS, Installation, Toolchain};

mod gpu;
mod preprocess;
mod separate;

pub use gpu::{Failure, GpuFiles, checks_on, too_old};
pub use preprocess::preprocesses;

/// The architecture of device code where none is named.
pub const DEFAULT_GPU_ARCH: &str = "sm_80";

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
    Clang(Command),
    /// Link a host image; what the linker says is put in the user's terms.
    Image {
        /// The link.
        command: Command,
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
        ptx: Command,
        /// From PTX to the processor's own code, where the toolkit can.
        sass: Option<Command>,
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
        files: part::Files,
        /// What the plugin is told where no unit says otherwise.
        config: Box<PassConfig>,
        /// The GPU architecture where there is no unit.
        arch: String,
    },
    /// Run clang over linked device code.
    Linked {
        /// clang.
        command: Command,
        /// What the plugin is told.
        settings: PathBuf,
    },
}

/// A program with its arguments and what is added to its environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables to set.
    pub env: Vec<(String, String)>,
}

/// Whether this command line has anything for gpurace to build or link.
pub fn builds(args: &Args) -> bool {
    let has_work = args
        .inputs()
        .any(|i| !args.compile_only || i.kind() != InputKind::Linker);
    args.asked.builds() && args.no_object.is_none() && has_work
}

/// Whether gpurace has anything to do for this command line that clang does not.
pub fn is_ours(args: &Args) -> bool {
    builds(args) || preprocesses(args)
}

/// Whether this command line links what gpurace has built.
pub fn links(args: &Args) -> bool {
    builds(args) && !args.compile_only && !args.relocatable && args.device_link.is_none()
}

/// The steps for `args`; temporary files go to `work`.
pub fn plan(args: &Args, toolchain: &Toolchain, work: &Path) -> Plan {
    match &toolchain.installation {
        Some(installation) if is_ours(args) => Planner {
            args,
            toolchain,
            installation,
            work,
        }
        .plan(),
        _ => Plan {
            steps: vec![Step::Clang(as_clang(args, toolchain))],
        },
    }
}

/// One run of clang that does what the user asked of it.
fn as_clang(args: &Args, toolchain: &Toolchain) -> Command {
    let mut command = clang_command(toolchain);
    if args.has_cuda_input() && args.cuda_path.is_none() {
        // Where clang finds a toolkit by itself, nothing is added.
        if let Some(toolkit) = toolchain
            .toolkit
            .as_ref()
            .filter(|t| t.origin != Origin::System)
        {
            command.arg(joined("--cuda-path=", &toolkit.path));
            command.arg("-Wno-unknown-cuda-version");
        }
    }
    command.args.extend(args.passed.iter().cloned());
    command
}

fn clang_command(toolchain: &Toolchain) -> Command {
    let compiler = &toolchain.compiler;
    let args = compiler.mode.iter().map(OsString::from).collect();
    Command {
        program: compiler.path.clone(),
        args,
        env: Vec::new(),
    }
}

struct Planner<'a> {
    args: &'a Args,
    toolchain: &'a Toolchain,
    installation: &'a Installation,
    work: &'a Path,
}

/// The files that one CUDA input becomes.
struct Files {
    bitcode: PathBuf,
    device_object: PathBuf,
    meta: PathBuf,
    proofs: PathBuf,
    diagnostics: PathBuf,
    image: PathBuf,
    container: PathBuf,
    /// The host object that carries the container.
    object: PathBuf,
    /// Bitcode of a separately compiled unit, as the front end made it.
    unit: PathBuf,
    /// A response file that declares the unit's names.
    declarations: PathBuf,
    /// They are of a link's device code.
    linked: bool,
}

impl Planner<'_> {
    fn plan(&self) -> Plan {
        if preprocesses(self.args) {
            let steps = self.args.inputs().flat_map(|input| self.preprocess(input)).collect();
            return Plan { steps };
        }
        let mut plan = Plan::default();
        let mut objects = Vec::new();
        if self.args.has_cuda_input() {
            plan.steps.extend(self.header_steps());
        }
        for input in self
            .args
            .inputs()
            .filter(|input| input.kind() == InputKind::Cuda)
        {
            let files = self.files(input, objects.len());
            plan.steps.push(Step::Clang(self.device(input, &files)));
            match self.args.separate_compilation {
                Some(_) => plan.steps.push(self.unit(input, &files)),
                None => {
                    plan.steps.extend(self.other_archs(input, &files).map(Step::Clang));
                    plan.steps.extend(self.image_steps(&files, &input.path.to_string_lossy(), None));
                }
            }
            plan.steps.push(Step::Clang(self.host(input, &files)));
            objects.push(files.object);
        }
        if self.args.device_link.is_some() {
            plan.steps.extend(self.device_link(&objects));
        } else if !self.args.compile_only {
            plan.steps.extend(self.linked(&objects));
        } else if self
            .args
            .inputs()
            .any(|input| input.kind() == InputKind::Host)
        {
            plan.steps.push(Step::Clang(self.compile_others()));
        }
        plan
    }

    fn files(&self, input: &Input, index: usize) -> Files {
        let stem = stem(&input.path);
        let unique = match index {
            0 => stem.clone(),
            n => format!("{stem}-{n}"),
        };
        let object = match (&self.args.output, self.args.compile_only) {
            (Some(output), true) => output.into(),
            (None, true) => format!("{stem}.o").into(),
            (_, false) => self.work.join(format!("{unique}.o")),
        };
        self.files_named(&unique, object, false)
    }

    fn files_named(&self, unique: &str, object: PathBuf, linked: bool) -> Files {
        let temporary = |end: &str| self.work.join(format!("{unique}.gpurace{end}"));
        Files {
            bitcode: temporary(".bc"),
            device_object: temporary(".device.o"),
            meta: temporary(".json"),
            proofs: temporary(".proofs"),
            diagnostics: temporary(".diagnostics"),
            image: temporary(".so"),
            container: temporary(".container"),
            object,
            unit: temporary(".unit.bc"),
            declarations: temporary(".names"),
            linked,
        }
    }

    /// From the plugin's object to a container.
    fn image_steps(&self, files: &Files, source: &str, settings: Option<&Path>) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.args.asked.sanitize || settings.is_some() {
            steps.push(Step::Diagnostics {
                file: files.diagnostics.clone(),
                errors: self.warnings_are_errors(),
                settings: settings.map(Path::to_owned),
            });
        }
        let for_cpu = self.args.asked.exec != Some(Exec::Cuda);
        if for_cpu {
            steps.push(Step::Image {
                command: self.image(files),
                source: source.to_owned(),
                linked: settings.is_some(),
            });
        }
        let gpus = self.gpus(files);
        steps.extend(gpus.iter().map(|files| Step::Gpu {
            ptx: self.ptx(files),
            sass: self.sass(files),
            files: files.clone(),
            source: source.to_owned(),
            failure: self.gpu_failure(),
        }));
        steps.push(Step::Container {
            image: for_cpu.then(|| files.image.clone()),
            gpus,
            no_gpu: self.no_gpu().map(|why| (why, self.gpu_failure())),
            meta: files.meta.clone(),
            proofs: files.proofs.clone(),
            output: files.container.clone(),
        });
        steps
    }

    /// The user's options of these roles, in order.
    fn options(&self, wanted: &[Role]) -> impl Iterator<Item = OsString> {
        self.args
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Option { words, role } if wanted.contains(role) => Some(words.clone()),
                _ => None,
            })
            .flatten()
    }

    /// What both compilations of a CUDA input start with: clang, and what nvcc
    /// declares in every source.
    fn cuda_command(&self) -> Command {
        let mut command = clang_command(self.toolchain);
        command.arg("-isystem");
        command.arg(&self.installation.include_dir);
        command.args(["-include", COMPATIBILITY_HEADER]);
        command.arg("-idirafter");
        command.arg(self.installation.include_dir.join(FALLBACK_HEADERS));
        if self.args.asked.sanitize {
            // What `gpurace/gpurace.h` looks for.
            command.arg("-D__GPURACE__=1");
        }
        command
    }

    /// The headers that clang reads in an adapted copy, and their copies.
    fn headers(&self) -> impl Iterator<Item = (&PathBuf, PathBuf)> {
        let copy = |from: &PathBuf| {
            let name = from.file_name().unwrap_or_default().to_string_lossy();
            self.work.join(format!("gpurace-{name}"))
        };
        let all = self.toolchain.adapted_headers.iter();
        all.map(move |from| (from, copy(from)))
    }

    fn header_steps(&self) -> Vec<Step> {
        let step = |(from, to): (&PathBuf, PathBuf)| Step::Header { from: from.clone(), to };
        self.headers().map(step).collect()
    }

    /// What both compilations of a CUDA input are told beside the user's options.
    fn cuda_options(&self, command: &mut Command, arch: &str) {
        command.arg(format!("--cuda-gpu-arch={arch}"));
        if let Some(toolkit) = &self.toolchain.toolkit {
            command.arg(joined("--cuda-path=", &toolkit.path));
        }
        for (from, to) in self.headers() {
            command.args(["-Xclang", "-remap-file", "-Xclang"]);
            command.arg(joined(&format!("{};", from.display()), &to));
        }
        self.debug_info(command);
        // Each step sees options that are another step's.
        command.arg("-Qunused-arguments");
    }

    /// The architecture whose code the executor runs.
    fn arch(&self) -> &str {
        self.args.gpu_archs.first().map_or(DEFAULT_GPU_ARCH, |arch| arch)
    }

    fn debug_info(&self, command: &mut Command) {
        if self.args.asked.sanitize && !self.args.debug_info {
            command.arg("-gline-tables-only");
        }
    }

    fn device(&self, input: &Input, files: &Files) -> Command {
        let config = self.config(&input.path.to_string_lossy(), files);
        self.device_for(input, self.arch(), &files.bitcode, &config)
    }

    /// The compilation of device code for an architecture.
    fn device_for(&self, input: &Input, arch: &str, bitcode: &Path, config: &PassConfig) -> Command {
        let mut command = self.cuda_command();
        command.args.extend(self.options(&[Role::Any]));
        command.arg("--cuda-device-only");
        self.cuda_options(&mut command, arch);
        command.args(["-Wno-unknown-cuda-version", "-fno-lto"]);
        // `#pragma unroll` is for GPUs: that a loop stays one here is no news.
        command.arg("-Wno-pass-failed");
        if self.args.asked.sanitize {
            // What is said of a proof calls parameters by their names.
            command.arg("-fno-discard-value-names");
        }
        // One front end for all levels, after the user's own `-O`: verdicts do
        // not depend on it. The pass hears of the level and optimises by it.
        command.arg("-O2");
        command.arg(joined("-fpass-plugin=", &self.installation.plugin));
        if self.args.separate_compilation.is_some() {
            self.unit_options(input, &mut command);
        }
        command.args(["-emit-llvm", "-c", "-o"]);
        command.arg(bitcode);
        command.source(input);
        // Strings, numbers and lists of them: nothing that could fail to serialise.
        let json = serde_json::to_string(&config).unwrap_or_default();
        command.env.push((config::VARIABLE.to_owned(), json));
        command
    }

    fn warnings_are_errors(&self) -> bool {
        self.args
            .asked
            .werror
            .unwrap_or(self.args.warnings_are_errors)
    }

    fn config(&self, main_file: &str, files: &Files) -> PassConfig {
        let asked = &self.args.asked;
        let baseline = matches!(self.args.march.as_deref(), Some("x86-64" | "x86-64-v2"));
        PassConfig {
            version: config::VERSION,
            sanitize: asked.sanitize,
            exec: match self.args.asked.exec {
                Some(Exec::Cuda) => "cuda",
                Some(Exec::Auto) | None if asked.sanitize => "auto",
                _ => "cpu",
            }
            .to_owned(),
            gpu: self.gpu_of_device(files),
            prune: asked.prune,
            solver: self.installation.solver.clone(),
            opt_level: self.args.opt_level,
            object: files.device_object.clone(),
            meta: files.meta.clone(),
            proofs: files.proofs.clone(),
            diagnostics: files.diagnostics.clone(),
            facts: asked.facts.clone(),
            system_prefixes: self.toolchain.system_prefixes.clone(),
            cpu: if baseline {
                Cpu::Baseline
            } else {
                self.toolchain.cpu
            },
            warn: !asked.no_warn && !self.args.no_warnings,
            werror: self.warnings_are_errors(),
            rpass: asked.rpass,
            rpass_missed: asked.rpass_missed,
            main_file: main_file.to_owned(),
            part: self.args.separate_compilation.as_ref().filter(|_| !files.linked).map(|_| files.unit.clone()),
        }
    }

    fn image(&self, files: &Files) -> Command {
        let mut command = clang_command(self.toolchain);
        // As the C driver, or C++'s library would be linked in.
        command.args([
            "--driver-mode=gcc",
            "-shared",
            "-nostartfiles",
            "-fuse-ld=lld",
        ]);
        // Names that neither the image nor the runtime define are errors here,
        // not when the program opens the image.
        command.args(["-Wl,-z,defs", "-Wl,-Bsymbolic", "-Wl,--error-limit=0"]);
        command.arg(&files.device_object);
        command.arg("-o");
        command.arg(&files.image);
        command.arg(joined("-L", &self.installation.library_dir));
        command.args(["-lgpurace_rt", "-lm"]);
        command
    }

    fn host(&self, input: &Input, files: &Files) -> Command {
        let mut command = self.cuda_command();
        command
            .args
            .extend(self.options(&[Role::Any, Role::Dependency]));
        command.arg("--cuda-host-only");
        self.cuda_options(&mut command, self.arch());
        if self
            .toolchain
            .toolkit
            .as_ref()
            .is_some_and(|t| t.origin != Origin::Argument)
        {
            command.arg("-Wno-unknown-cuda-version");
        }
        if self.args.separate_compilation.is_some() {
            self.unit_options(input, &mut command);
            command.arg(joined("@", &files.declarations));
        }
        command.args(["-Xclang", "-fcuda-include-gpubinary", "-Xclang"]);
        command.arg(&files.container);
        command.args(match self.args.save_temps {
            Some(SaveTemps::Cwd) => &["-save-temps=cwd"][..],
            Some(SaveTemps::Obj) => &["-save-temps=obj"],
            None => &[],
        });
        if !self.args.compile_only {
            self.dependency_names(input, &mut command);
        }
        command.args(["-c", "-o"]);
        command.arg(&files.object);
        command.source(input);
        command
    }

    /// Names the dependency file and its target as one run of clang would:
    /// left alone, it would name them after the temporary object.
    fn dependency_names(&self, input: &Input, command: &mut Command) {
        let given: Vec<_> = self.options(&[Role::Dependency]).collect();
        let has = |options: &[&str]| {
            given.iter().any(|word| {
                options
                    .iter()
                    .any(|o| word.to_string_lossy().starts_with(o))
            })
        };
        if !has(&["-MD", "-MMD", "--write"]) {
            return;
        }
        if !has(&["-MF"]) {
            let file = match &self.args.output {
                Some(output) => Path::new(output).with_extension("d"),
                None => format!("{}.d", stem(&input.path)).into(),
            };
            command.arg("-MF");
            command.arg(file);
        }
        if !has(&["-MT", "-MQ"]) {
            let object = || format!("{}.o", stem(&input.path)).into();
            command.arg("-MT");
            command.arg(self.args.output.clone().unwrap_or_else(object));
        }
    }

    /// `-c` of the inputs that are not CUDA.
    fn compile_others(&self) -> Command {
        let mut command = clang_command(self.toolchain);
        command
            .args
            .extend(self.options(&[Role::Any, Role::Dependency, Role::Driver]));
        self.host_only_options(&mut command);
        command.arg("-c");
        if let Some(output) = &self.args.output {
            command.arg("-o");
            command.arg(output);
        }
        let mut language = None;
        for input in self
            .args
            .inputs()
            .filter(|input| input.kind() == InputKind::Host)
        {
            command.input(&input.path, input.language.as_deref(), &mut language);
        }
        command
    }

    /// For host code that is not CUDA: `cuda_runtime.h` is found after all else.
    fn host_only_options(&self, command: &mut Command) {
        self.debug_info(command);
        if let Some(toolkit) = &self.toolchain.toolkit {
            command.arg("-idirafter");
            command.arg(toolkit.path.join("include"));
        }
        command.arg("-idirafter");
        command.arg(self.installation.include_dir.join(FALLBACK_HEADERS));
    }

    /// The link, with the compilation of what is not CUDA.
    fn link(&self, objects: &[PathBuf], to: &LinkTo) -> Command {
        let compiles = self
            .args
            .inputs()
            .any(|input| input.kind() == InputKind::Host);
        let mut command = clang_command(self.toolchain);
        let mut objects = objects.iter();
        let mut language = None;
        if compiles {
            self.host_only_options(&mut command);
        }
        if !objects.as_slice().is_empty() {
            command.arg("-Qunused-arguments");
        }
        for item in &self.args.items {
            match item {
                Item::Input(input) => match input.kind() {
                    InputKind::Cuda => {
                        if let Some(object) = objects.next() {
                            command.input(object.as_os_str(), None, &mut language);
                        }
                    }
                    _ if clang::is_replaced_library_file(&input.path.to_string_lossy()) => {}
                    _ => command.input(&input.path, input.language.as_deref(), &mut language),
                },
                Item::Option {
                    words,
                    role: Role::Dependency | Role::Driver,
                } if compiles && !to.is_trial() => {
                    command.args.extend(words.iter().cloned());
                }
                Item::Option {
                    words,
                    role: Role::Link,
                } if !is_replaced_library(words) => {
                    command.args.extend(words.iter().cloned());
                }
                Item::Option {
                    words,
                    role: Role::Any,
                } => {
                    command.args.extend(words.iter().cloned());
                }
                Item::Option {
                    words,
                    role: Role::Output,
                } if !to.is_trial() => {
                    command.args.extend(words.iter().cloned());
                }
                Item::Option { .. } => {}
            }
        }
        match to {
            LinkTo::Output { joining: None } => {}
            LinkTo::Output { joining: Some(object) } => command.input(object.as_os_str(), None, &mut language),
            LinkTo::Trial(output) => {
                command.args(["-Wl,--unresolved-symbols=ignore-all", "-o"]);
                command.arg(output);
            }
        }
        if !self.args.bare_link {
            let library_dir = &self.installation.library_dir;
            command.arg(joined("-L", library_dir));
            command.arg("-lgpurace_rt");
            command.arg(joined("-Wl,-rpath,", library_dir));
            if self.toolchain.compiler.driver == Driver::C {
                // CUDA's host code is C++, and nvcc links its library without being asked.
                command.args(["-Wl,--push-state,--as-needed", "-lstdc++", "-Wl,--pop-state"]);
            }
        }
        command
    }
}

/// What a link is for.
enum LinkTo<'a> {
    /// What the user asked for, with the object that joins device code, if any.
    Output { joining: Option<&'a Path> },
    /// To learn what the linker takes.
    Trial(&'a Path),
}

impl LinkTo<'_> {
    fn is_trial(&self) -> bool {
        matches!(self, LinkTo::Trial(_))
    }
}

/// Whether these words are `-lcudart` or another library that the runtime stands in for.
fn is_replaced_library(words: &[OsString]) -> bool {
    let text: String = words.iter().map(|word| word.to_string_lossy()).collect();
    text.strip_prefix("-l")
        .is_some_and(|name| match name.strip_prefix(':') {
            Some(file) => clang::is_replaced_library_file(file),
            None => clang::REPLACED_LIBRARIES.contains(&name),
        })
}

/// A file's name without folder and extension.
fn stem(path: &OsStr) -> String {
    Path::new(path)
        .file_stem()
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

impl Command {
    /// Whether the arguments must travel in a response file.
    pub fn is_long(&self) -> bool {
        self.args.iter().map(|arg| arg.len() + 1).sum::<usize>() > LONGEST_COMMAND
    }

    fn arg(&mut self, arg: impl Into<OsString>) {
        self.args.push(arg.into());
    }

    fn args(&mut self, args: impl IntoIterator<Item = impl Into<OsString>>) {
        self.args.extend(args.into_iter().map(Into::into));
    }

    /// An input, after `-x` where its language is not the one in force.
    fn input(&mut self, path: &OsStr, language: Option<&str>, in_force: &mut Option<String>) {
        if in_force.as_deref() != language {
            self.args(["-x", language.unwrap_or("none")]);
            *in_force = language.map(str::to_owned);
        }
        self.path(path);
    }

    /// The one CUDA source of a compilation.
    fn source(&mut self, input: &Input) {
        self.args(["-x", "cuda"]);
        self.path(&input.path);
    }

    /// A file name, which may look like an option (after `--` it may).
    fn path(&mut self, path: &OsStr) {
        if path != "-" && path.to_string_lossy().starts_with(['-', '@']) {
            self.arg(Path::new(".").join(path));
        } else {
            self.arg(path);
        }
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
            Step::Clang(command) | Step::Image { command, .. } | Step::Linked { command, .. } => command.render(),
            Step::Header { from, to } => {
                format!(
                    " # header \"{}\": from \"{}\"\n",
                    to.display(),
                    from.display()
                )
            }
            Step::Container {
                image,
                meta,
                proofs,
                gpus,
                output,
                ..
            } => {
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
            Step::Gpu { ptx, sass, .. } => ptx.render() + &sass.as_ref().map(Command::render).unwrap_or_default(),
            Step::Diagnostics { file, .. } => {
                format!(" # diagnostics \"{}\"\n", file.display())
            }
            Step::Joined { parts, .. } => {
                let names = parts.iter().map(|part| format!(" \"{}\"", part.display()));
                format!(" # joined:{}\n", names.collect::<String>())
            }
            Step::Unit { bitcode, container, .. } => format!(
                " # container \"{}\": unit \"{}\"\n",
                container.display(),
                bitcode.display()
            ),
            Step::Units { files, .. } => format!(
                " # device code of \"{}\": \"{}\", \"{}\"\n",
                files.trial.display(),
                files.main.display(),
                files.others.display()
            ),
        }
    }
}

impl Command {
    fn render(&self) -> String {
        let mut line = String::new();
        for (name, value) in &self.env {
            // Writing to a string cannot fail.
            let _ = write!(line, " {name}='{}'", value.replace('\'', r"'\''"));
        }
        let program = [self.program.as_os_str()];
        for word in program
            .into_iter()
            .chain(self.args.iter().map(OsString::as_os_str))
        {
            let word = word
                .to_string_lossy()
                .replace('\\', r"\\")
                .replace('"', "\\\"");
            let _ = write!(line, " \"{word}\"");
        }
        line + "\n"
    }
}
