//! `gclang` and `gclang++` as stages: parse, find the toolchain, plan, run.

use std::env;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gpurace_abi::plugin::Cpu;

use crate::args::{Args, InputKind, SaveTemps};
use crate::cuda::{self, Origin, Toolkit};
use crate::diagnostic::{Error, Exit, note, temporary_folder};
use crate::plan::{self, Step, ToolCommand};
use crate::toolchain::{self, Driver, Toolchain, World};
use crate::{cuda13, dialect, flags, headers, libraries, nvcc, part, project, refuse, response, run};

/// The whole program. It is `gclang++` if the name that it was called by ends with `++`, else `gclang`.
pub fn main() -> ExitCode {
    let name = env::args_os().next().unwrap_or_default();
    let driver = if name.to_string_lossy().ends_with("++") { Driver::Cxx } else { Driver::C };
    let exit = stages(driver).unwrap_or_else(|error| {
        error.print(driver.name());
        Exit::Refused
    });
    exit.into()
}

/// Runs the stages one after the other. Returns how the program ends.
fn stages(driver: Driver) -> Result<Exit, Error> {
    let words = response::expand(nvcc::options_files(env::args_os().skip(1).collect()));
    let mut args = Args::parse(nvcc::translate(words)?)?;
    refuse::check(&args)?;
    args.links_units = plan::links(&args) && part::are_linked(&args);
    if args.asked.facts.is_some()
        && args.separate_compilation.is_some()
        && args.compile_only
        && plan::builds(&args)
    {
        note(
            driver.name(),
            "gpurace proves separately compiled device code at the link: give `-fgpurace-facts` to the link",
        );
    }
    let toolchain = find(&mut args, driver)?;
    if plan::links(&args) && args.inputs().any(|_| true) {
        let asked = |file: &str| libraries::of_clang(&toolchain.compiler.path, file);
        args.own_libraries = libraries::own_libraries(&args, asked);
        args.openmp_of_clang = asked("libomp.so").filter(|_| !libraries::links_openmp(&args));
        if !args.dry_run {
            args.missing_libraries = libraries::missing(&args, asked)?;
        }
    }
    let work = Work::new(&args)?;
    let plan = plan::plan(&args, &toolchain, work.path());
    if args.dry_run && plan::is_ours(&args) {
        // A closed standard error is no reason to fail.
        let _ = std::io::stderr().write_all(plan.render().as_bytes());
        return Ok(Exit::Success);
    }
    let (exit, succeeded) = match plan.steps.as_slice() {
        [Step::Clang(command)] if !args.help && !command.is_long() => {
            drop(work);
            (run::become_command(command, driver.name()), 0)
        }
        _ => run::run(&plan, driver.name(), args.verbose && plan::is_ours(&args), work.path()),
    };
    if args.help {
        anstream::print!("{}", flags::help());
    }
    if matches!(exit, Exit::Step(_)) {
        explain_failure(&args, &toolchain, driver, &plan.steps, succeeded);
    }
    Ok(exit)
}

/// Says what clang and the linker do not: why a step may have failed after so many that `succeeded`.
fn explain_failure(args: &Args, toolchain: &Toolchain, driver: Driver, steps: &[Step], succeeded: usize) {
    // The link is the last step.
    if succeeded + 1 == steps.len() {
        for library in &args.missing_libraries {
            library.error().print(driver.name());
        }
    }
    if !plan::is_ours(args) {
        return;
    }
    // clang's first step compiles.
    let is_first = steps.iter().take(succeeded).all(|step| !matches!(step, Step::Clang(_)));
    if let Some(Step::Clang(command)) = steps.get(succeeded)
        && is_first
    {
        explain_compilation(args, toolchain, driver, command);
    }
    // clang and the linker name only the first file that they miss.
    if let Err(error) = libraries::check_host(&toolchain.compiler.path) {
        error.print(driver.name());
    }
}

/// Says why clang may refuse a source that nvcc accepts. `failed` is the run of clang.
fn explain_compilation(args: &Args, toolchain: &Toolchain, driver: Driver, failed: &ToolCommand) {
    let sources = headers::sources(args);
    let mut errors = project::explain(&sources, &headers::include_folders(args), toolchain.toolkit.as_ref());
    if toolchain.toolkit.as_ref().is_some_and(|found| cuda13::is_since(found.version)) {
        // Folders of `-I` may hold CUDA's own headers.
        let is_theirs = |path: &Path| toolchain.toolkit.as_ref().is_some_and(|found| found.has(path));
        let own: Vec<_> = sources.iter().filter(|(path, _)| !is_theirs(path)).cloned().collect();
        errors.extend(cuda13::explain(&own));
    }
    if !args.defines("__NVCC__")
        && let Some(error) = dialect::asks_for_nvcc(&sources)
        && run::reads_with(failed, &[plan::DEFINES_NVCC])
    {
        errors.push(error);
    }
    if errors.is_empty() && run::reads_with(failed, &[DELAYS_TEMPLATES]) {
        let what = "clang finds errors also in templates that nothing uses, unlike nvcc";
        errors.push(Error::new(what).hint(format!("to look at used ones only, add `{DELAYS_TEMPLATES}`")));
    }
    for error in errors {
        error.print(driver.name());
    }
}

/// Makes clang look at a template's body when something uses it.
const DELAYS_TEMPLATES: &str = "-fdelayed-template-parsing";

/// Finds the tools that this command line needs, and no others. Leaves out architectures that the toolkit lacks.
pub(crate) fn find(args: &mut Args, driver: Driver) -> Result<Toolchain, Error> {
    let world = World::real()?;
    let compiler = world.compiler(driver, args.asked.clang.as_deref())?;
    let builds = plan::is_ours(args);
    let installation = if builds || plan::only_reads(args) { Some(world.installation()?) } else { None };
    let compiles_host =
        (builds || plan::only_reads(args)) && args.inputs().any(|input| input.kind() == InputKind::Host);
    // A link that joins device code also makes code for GPUs.
    let joins = builds && (args.links_units || args.device_link.is_some());
    let mut toolkit = None;
    if !args.no_toolkit && (args.has_cuda_input() || compiles_host || joins) {
        let mut search = world.cuda_search(args.cuda_path.as_deref());
        // clang ignores `CUDA_PATH` and `CUDA_HOME`, so a toolkit that it finds goes first.
        search.system_first = !builds;
        let found = search.run();
        if builds && args.has_cuda_input() {
            report_toolkit(&found, driver)?;
            if let Some(toolkit) = &found.toolkit
                && let Some(text) = refuse::leave_out_old(args, toolkit)
            {
                note(driver.name(), &text);
            }
        }
        toolkit = found.toolkit;
        let whole = !args.dry_run && args.no_object.is_none() && args.device_only.is_none();
        if let Some(own) = toolkit.as_ref().filter(|t| !builds && whole && t.origin == Origin::Own) {
            toolchain::expect_fatbinary(own)?;
        }
    }
    let mut system_prefixes = world.system_prefixes(&compiler, toolkit.as_ref());
    system_prefixes.extend(installation.iter().map(|found| found.include_dir.clone()));
    let mut adapted_headers = match &toolkit {
        Some(toolkit) if builds => headers::to_adapt(&toolkit.path),
        _ => Vec::new(),
    };
    if builds {
        adapted_headers.extend(headers::sources_to_adapt(args));
    }
    let newer_standard = toolkit.as_ref().filter(|_| builds && args.has_cuda_input()).and_then(|toolkit| {
        let standard = newer_standard(args, toolkit)?;
        let (version, old) = (toolkit.version, args.standard());
        let text = format!(
            "CUB, Thrust and libcu++ of CUDA {version} need C++17: `-std={standard}` replaces `-std={old}`"
        );
        note(driver.name(), &text);
        Some(standard)
    });
    let hides = |toolkit: &&Toolkit| builds && headers::hides_cuda_header(args, &toolkit.path);
    let hidden_header = toolkit.as_ref().filter(hides).and_then(|_| toolchain::resource_dir(&compiler.path));
    let hidden_header = hidden_header.map(|resources| resources.join("include").join(headers::CUDA_HEADER));
    Ok(Toolchain {
        compiler,
        installation,
        toolkit,
        adapted_headers,
        newer_standard,
        hidden_header,
        system_prefixes,
        cpu: Cpu::of_this_machine(),
        work_dir: env::current_dir().unwrap_or_default(),
    })
}

/// The standard of C++ that replaces the command line's, which is too old for libraries of a toolkit.
fn newer_standard(args: &Args, toolkit: &Toolkit) -> Option<&'static str> {
    let standard = args.standard();
    if !cuda13::is_since(toolkit.version) || !cuda13::is_older(&standard) {
        return None;
    }
    let folders = headers::own_folders(args);
    let is_theirs = |name: &str| folders.iter().any(|folder| folder.join(name).is_file());
    cuda13::newer_standard(&headers::sources(args), &standard, is_theirs)
}

fn report_toolkit(found: &cuda::Found, driver: Driver) -> Result<(), Error> {
    if found.toolkit.is_none() {
        return Err(toolchain::no_toolkit_error(found));
    }
    if let Some(text) = toolchain::own_toolkit_note(found) {
        note(driver.name(), &text);
    }
    Ok(())
}

/// The folder for temporary files.
enum Work {
    /// Removed at the end.
    Temporary(tempfile::TempDir),
    /// The user's, for `-save-temps`.
    Kept(PathBuf),
}

impl Work {
    fn new(args: &Args) -> Result<Self, Error> {
        Ok(match args.save_temps {
            Some(SaveTemps::Cwd) => Work::Kept(PathBuf::new()),
            Some(SaveTemps::Obj) => {
                let output = args.output.as_ref().map(Path::new);
                Work::Kept(output.and_then(Path::parent).map(Path::to_owned).unwrap_or_default())
            }
            None => Work::Temporary(temporary_folder()?),
        })
    }

    fn path(&self) -> &Path {
        match self {
            Work::Temporary(dir) => dir.path(),
            Work::Kept(path) => path,
        }
    }
}
