//! `gpurace explain`: shows the verdict on each access of a source and its reason, for all launches or
//! for one.
//!
//! | module | content |
//! |---|---|
//! | [`launch`] | one launch: reads it, solves for it |
//! | [`remarks`] | bank conflicts and uncoalesced accesses of a launch's first warp |
//! | [`table`] | the text |
//!
//! It compiles the device code only, with the step that `gclang++` would run.

mod launch;
mod remarks;
mod table;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use gpurace_abi::meta::{KernelMeta, ModuleMeta};
use gpurace_protocol::place::Place;
use gpurace_protocol::wire::{KernelProofs, kernel_proofs, module_proofs};
use gpurace_report::sources::DiskSources;

pub use self::table::Explained;
use super::Done;
use super::facts::{self, Facts, Kernel};
use crate::args::Args;
use crate::diagnostic::{Error, Exit, read_file, temporary_folder};
use crate::plan::{self, Plan, Step};
use crate::toolchain::Driver;
use crate::{gclang, nvcc, run};

/// Arguments of `gpurace explain`.
#[derive(ClapArgs)]
pub struct ExplainArgs {
    /// A CUDA source, or the facts of a build (`-fgpurace-facts=FILE.json`)
    file: PathBuf,
    /// Explain only the kernel of this name, given with or without parameters
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Explain one launch, given by its dimensions and arguments:
    /// `grid=4,2,block=256,shared=1024,n=1000,x=ptr(4096),y=x+64`
    #[arg(long, value_name = "LAUNCH")]
    launch: Option<String>,
    /// Print the accesses as JSON, for `gpurace lsp`
    #[arg(long, hide = true, conflicts_with = "launch")]
    json: bool,
    /// Arguments for clang; they must come last
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "CLANG ARGS")]
    clang: Vec<OsString>,
}

/// A kernel, its verdicts and its proofs.
struct Known {
    /// Name and verdicts.
    facts: Kernel,
    /// The module's numbers of its sites, in the order of the verdicts. Empty if only facts were read.
    sites: Vec<u32>,
    /// Its protocol and proofs, if the prover follows the kernel.
    proofs: Option<KernelProofs>,
}

impl Known {
    /// Returns the names of the objects that each site may touch, by the site's number.
    fn objects(&self) -> HashMap<u32, Vec<String>> {
        let mut objects: HashMap<u32, Vec<String>> = HashMap::new();
        let Some(proofs) = &self.proofs else { return objects };
        for place in Place::all(&proofs.protocol) {
            let name = &proofs.protocol.objects[place.access.object.0 as usize].name;
            let names = objects.entry(place.access.site.0).or_default();
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        objects
    }
}

/// True if `wanted` is the whole name of a kernel, or that name without parameters, return type or
/// template arguments.
fn is_called(whole: &str, wanted: &str) -> bool {
    // Ignore parentheses and spaces in template arguments: `<int, (unsigned int)256>`.
    let mut depth = 0usize;
    let outside: Vec<(usize, char)> = whole
        .char_indices()
        .filter(|&(_, c)| {
            let inside = depth > 0;
            match c {
                '<' => depth += 1,
                '>' => depth = depth.saturating_sub(1),
                _ => {}
            }
            !inside
        })
        .collect();
    let opens = |&&(at, c): &&(usize, char)| c == '(' && !whole[at..].starts_with("(anonymous namespace)");
    let head = &whole[..outside.iter().find(opens).map_or(whole.len(), |&(at, _)| at)];
    let returns = outside
        .iter()
        .rev()
        .find(|&&(at, c)| at < head.len() && c == ' ' && !head[at..].starts_with(" namespace)"));
    let name = &head[returns.map_or(0, |&(at, _)| at + 1)..];
    let plain = name.split('<').next().unwrap_or(name);
    [whole, head, name, plain].contains(&wanted)
}

/// Explains a source or facts.
///
/// # Errors
/// The file cannot be read or compiled, there is no such kernel or argument, or the solver is missing.
pub fn explain(args: &ExplainArgs) -> Result<Done, Error> {
    let is_facts = args.file.extension().is_some_and(|end| end == "json");
    let sources = match is_facts {
        // Facts from elsewhere may name any file.
        true => DiskSources::below(std::env::current_dir().ok()),
        false => DiskSources::new(None),
    };
    let mut kernels = if is_facts {
        if args.launch.is_some() {
            return Err(Error::new("`--launch` needs a source, found facts")
                .hint("name the `.cu` file: facts hold no protocols, and the solver needs them"));
        }
        of_facts(&args.file)?
    } else {
        compile(&args.file, &args.clang)?
    };
    let names = |kernels: &[Known]| {
        kernels.iter().map(|kernel| format!("`{}`", kernel.facts.name)).collect::<Vec<_>>().join(", ")
    };
    if let Some(wanted) = &args.kernel {
        let all = names(&kernels);
        kernels.retain(|kernel| is_called(&kernel.facts.name, wanted));
        if kernels.is_empty() {
            return Err(
                Error::new(format!("there is no kernel `{wanted}`")).hint(format!("the kernels are {all}"))
            );
        }
    }
    if args.json {
        let explained: Vec<Explained> =
            kernels.iter().flat_map(|kernel| table::explain(kernel, &HashMap::new())).collect();
        // Nothing in this type can fail to serialise.
        return Ok(Done::success(serde_json::to_string(&explained).unwrap_or_default()));
    }
    let Some(text) = &args.launch else {
        let show = |kernel| table::render(kernel, &HashMap::new(), &sources);
        let text = kernels.iter().map(show).collect::<String>();
        return Ok(Done::success(text));
    };
    let [kernel] = kernels.as_mut_slice() else {
        return Err(Error::new(format!("`--launch` needs one kernel, found {}", kernels.len()))
            .hint(format!("set `--kernel` to one of {}", names(&kernels))));
    };
    let (head, remarks) = launch::solve(kernel, text)?;
    Ok(Done::success(head + &table::render(kernel, &remarks, &sources)))
}

/// Returns the kernels that stored facts know.
fn of_facts(file: &Path) -> Result<Vec<Known>, Error> {
    let known = |facts| Known { facts, sites: Vec::new(), proofs: None };
    Ok(facts::read(file)?.kernels.into_iter().map(known).collect())
}

/// Explains the accesses that stored facts know.
///
/// # Errors
/// The file cannot be read, or does not hold facts.
pub fn stored(file: &Path) -> Result<Vec<Explained>, Error> {
    let kernels = of_facts(file)?;
    Ok(kernels.iter().flat_map(|kernel| table::explain(kernel, &HashMap::new())).collect())
}

/// Compiles the device code of a source and reads the facts and proofs that the pass writes.
fn compile(file: &Path, clang: &[OsString]) -> Result<Vec<Known>, Error> {
    expect_source(file)?;
    let work = temporary_folder()?;
    let facts_file = work.path().join("facts.json");
    let mut words: Vec<OsString> = clang.to_vec();
    let mut facts_word = OsString::from("-fgpurace-facts=");
    facts_word.push(&facts_file);
    // These follow the user's arguments, since the last one counts. `-fno-gpu-rdc`, because one file is
    // explained on its own.
    words.extend(
        ["-fsanitize=gpurace", "-fgpurace-exec=cpu", "-Wno-gpurace", "-fno-gpu-rdc"].map(OsString::from),
    );
    words.extend([facts_word, "-c".into(), "-x".into(), "cuda".into(), file.into()]);
    let mut args = Args::parse(nvcc::translate(words)?)?;
    crate::refuse::check(&args)?;
    let toolchain = gclang::find(&mut args, Driver::Cxx)?;
    let whole = plan::plan(&args, &toolchain, work.path());
    // Keep the device compilation, which is clang's first run, and the headers that it reads.
    let (mut steps, mut compiles, mut files) = (Vec::new(), false, None);
    for step in whole.steps {
        match step {
            Step::Header { .. } | Step::Overlay { .. } => steps.push(step),
            Step::Clang(_) if !compiles => {
                compiles = true;
                steps.push(step);
            }
            Step::Container { meta, proofs, .. } if files.is_none() => files = Some((meta, proofs)),
            Step::Clang(_)
            | Step::Container { .. }
            | Step::Image { .. }
            | Step::Gpu { .. }
            | Step::Diagnostics { .. }
            | Step::Joined { .. }
            | Step::Archive { .. }
            | Step::Unit { .. }
            | Step::Units { .. }
            | Step::Linked { .. } => {}
        }
    }
    let (true, Some((meta, proofs))) = (compiles, files) else {
        return Err(Error::new(format!("`{}` has no device code to compile", file.display())));
    };
    let plan = Plan { steps };
    if run::run(&plan, "gpurace", false, work.path()).0 != Exit::Success {
        return Err(Error::new(format!("`{}` did not compile", file.display()))
            .hint("arguments of the compilation follow the file: `gpurace explain k.cu -I include`"));
    }
    let meta: ModuleMeta = serde_json::from_slice(&read_file(&meta)?)
        .map_err(|e| Error::new(format!("cannot read the description of the module: {e}")))?;
    let facts: Facts = facts::read(&facts_file)?;
    let proofs = if proofs.exists() { known_proofs(&read_file(&proofs)?)? } else { HashMap::new() };
    Ok(join(facts, &meta.kernels, proofs))
}

/// Returns an error if a file is no source: clang would take its bytes for one, and print an error for each.
fn expect_source(file: &Path) -> Result<(), Error> {
    let name = file.display();
    let is = match &read_file(file)?[..] {
        elf if elf.starts_with(b"\x7fELF") => "a built program, object or library",
        archive if archive.starts_with(b"!<arch>\n") => "a library",
        other if other.contains(&0) => "no text",
        _ => return Ok(()),
    };
    Err(Error::new(format!("`{name}` is {is}, wanted a CUDA source")).hint(
        "name the `.cu` file; for what a build proved, compile it with `-fgpurace-facts=FILE.json` and name that file",
    ))
}

/// Joins facts, which use demangled names, with proofs, which use mangled ones. Facts and `kernels`
/// have the same order.
fn join(facts: Facts, kernels: &[KernelMeta], mut proofs: HashMap<String, KernelProofs>) -> Vec<Known> {
    facts
        .kernels
        .into_iter()
        .zip(kernels)
        .map(|(facts, meta)| Known { facts, sites: meta.sites.clone(), proofs: proofs.remove(&meta.name) })
        .collect()
}

fn known_proofs(bytes: &[u8]) -> Result<HashMap<String, KernelProofs>, Error> {
    let damaged = |e| Error::new(format!("cannot read the proofs: {e}"));
    let module = module_proofs(bytes).map_err(damaged)?;
    let read = |(name, bytes): (String, Vec<u8>)| Ok((name, kernel_proofs(&bytes).map_err(damaged)?));
    module.kernels.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::is_called;

    #[test]
    fn kernels_are_called_by_name_with_and_without_the_rest() {
        let whole = "void reduce4<int, (unsigned int)256>(int*, int*, unsigned int)";
        for name in
            [whole, "void reduce4<int, (unsigned int)256>", "reduce4<int, (unsigned int)256>", "reduce4"]
        {
            assert!(is_called(whole, name), "{name}");
        }
        for other in [
            "reduce",
            "reduce4<int, (unsigned int)128>",
            "void reduce4<int, ",
            "int)256>",
            "unsigned int)",
            "",
        ] {
            assert!(!is_called(whole, other), "{other}");
        }
        assert!(is_called("k(float const*)", "k"));
        assert!(is_called("(anonymous namespace)::k(int)", "(anonymous namespace)::k"));
        assert!(is_called("void a::b<c(d)>(e)", "a::b"));
    }
}
