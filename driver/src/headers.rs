//! Toolkit headers and sources that clang cannot read as they are. gclang gives clang an adapted copy of each. The
//! module [`dialect`] says what gclang changes in sources.
//!
//! clang rejects a shared variable whose destructor is not empty. nvcc accepts
//! `__shared__ cuda::barrier<cuda::thread_scope_block> b;`, since nothing ever calls the destructor of a
//! shared variable. In the copy, that destructor is defaulted. The original only tells the hardware that
//! the barrier's memory is free.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::args::{Args, InputKind};
use crate::{cuda13, dialect};

/// The header of `cuda::barrier` in a toolkit. It depends on the version of libcu++.
const BARRIERS: [&str; 3] = [
    "include/cuda/std/detail/libcxx/include/__cuda/barrier.h",
    "include/cuda/__barrier/barrier_block_scope.h",
    "include/cccl/cuda/__barrier/barrier_block_scope.h",
];

/// The header of the driver API, which clang reads before each CUDA source. nvcc reads it only where a source asks.
pub const CUDA_HEADER: &str = "cuda.h";

/// A header that each toolkit's folder of headers has.
const RUNTIME_HEADER: &str = "cuda_runtime_api.h";

/// True if a folder of the user has another [`CUDA_HEADER`], which clang would read in place of CUDA's.
pub fn hides_cuda_header(args: &Args, toolkit: &Path) -> bool {
    let real = |path: PathBuf| std::fs::canonicalize(path).ok();
    let theirs = real(toolkit.join("include").join(CUDA_HEADER));
    let folders = [include_folders(args), folders(args, "-isystem")].concat();
    folders.iter().filter_map(|folder| real(folder.join(CUDA_HEADER))).any(|found| Some(found) != theirs)
}

/// Returns a file system for clang's `-ivfsoverlay`. `hidden`: where clang looks first for CUDA's own header, if another
/// one hides it; the toolkit's stands there, and dependencies name it. `copies`: headers, and their adapted copies.
/// Dependencies name the headers. Unlike with `-remap-file`, a precompiled header may have read the copies, as long as
/// they keep size and time.
pub fn overlay(hidden: Option<(&Path, &Path)>, copies: &[(&Path, &Path)]) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let file = |name: &Path, contents: &Path, names_contents: bool| {
        let (name, contents) = (absolute(name), absolute(contents));
        serde_json::json!({
            "type": "file", "name": name, "external-contents": contents, "use-external-name": names_contents,
        })
    };
    let hidden = hidden.map(|(place, toolkit)| file(place, &toolkit.join("include").join(CUDA_HEADER), true));
    let copies = copies.iter().map(|(from, to)| file(from, to, false));
    let roots: Vec<_> = hidden.into_iter().chain(copies).collect();
    serde_json::json!({ "version": 0, "roots": roots }).to_string()
}

/// Returns the headers of a toolkit that clang cannot read as they are, and those that get what CUDA 12 had.
pub fn to_adapt(toolkit: &Path) -> Vec<PathBuf> {
    let all = BARRIERS.into_iter().chain(cuda13::HEADERS).map(|header| toolkit.join(header));
    all.filter(|path| adapted_of_toolkit(path).is_some()).collect()
}

/// Returns the adapted text of a toolkit's header. `None` if it stays as it is.
pub fn adapted_of_toolkit(path: &Path) -> Option<String> {
    let is_one = cuda13::is_header(path) || BARRIERS.iter().any(|header| path.ends_with(header));
    is_one.then(|| std::fs::read_to_string(path).ok()).flatten().and_then(|text| adapt(path, &text))
}

/// Returns the CUDA sources that clang cannot read as they are, and such headers of the project that they include.
pub fn sources_to_adapt(args: &Args) -> Vec<PathBuf> {
    let sources = sources(args).into_iter();
    sources.filter(|(path, text)| adapt(path, text).is_some()).map(|(path, _)| path).collect()
}

/// Returns the CUDA sources with their texts, and the headers that they include: by `#include "..."`, or by
/// `#include <...>` from a folder that the command line names and that is no toolkit's.
pub fn sources(args: &Args) -> Vec<(PathBuf, String)> {
    let folders = include_folders(args);
    let own = own_folders(args);
    let sources = args.inputs().filter(|input| input.kind() == InputKind::Cuda);
    let mut waiting: Vec<PathBuf> = sources.map(|input| PathBuf::from(&input.path)).collect();
    waiting.reverse();
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    while let Some(path) = waiting.pop() {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if !seen.insert(std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone())) {
            continue;
        }
        for Include { name, in_quotes } in text.lines().filter_map(included) {
            let (beside, folders) = if in_quotes { (path.parent(), &folders) } else { (None, &own) };
            let mut places = beside.into_iter().chain(folders.iter().map(PathBuf::as_path));
            waiting.extend(places.find_map(|folder| Some(folder.join(name)).filter(|place| place.is_file())));
        }
        found.push((path, text));
    }
    found
}

/// The folders of `-I` and `-isystem` that are no toolkit's.
pub fn own_folders(args: &Args) -> Vec<PathBuf> {
    let mut own = [folders(args, "-I"), folders(args, "-isystem")].concat();
    own.retain(|folder| !folder.join(RUNTIME_HEADER).is_file());
    own
}

/// The folders of `-iquote`, then those of `-I`.
pub fn include_folders(args: &Args) -> Vec<PathBuf> {
    [folders(args, "-iquote"), folders(args, "-I")].concat()
}

/// The folders that an option names.
fn folders(args: &Args, option: &str) -> Vec<PathBuf> {
    args.values_of(option).map(PathBuf::from).collect()
}

/// What a line includes.
pub struct Include<'a> {
    /// The header, as the line names it.
    pub name: &'a str,
    /// The name stands in quotes, not in angle brackets.
    pub in_quotes: bool,
}

/// Reads a line `#include "name"` or `#include <name>`.
pub fn included(line: &str) -> Option<Include<'_>> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let in_quotes = rest.starts_with('"');
    let name = rest.strip_prefix(['<', '"'])?.split_once(if in_quotes { '"' } else { '>' })?.0;
    Some(Include { name, in_quotes })
}

/// Returns the adapted text of a header or source. Its lines keep their numbers. `None` if clang can read it as it is.
pub fn adapt(path: &Path, text: &str) -> Option<String> {
    if cuda13::is_header(path) {
        return cuda13::adapt(path, text);
    }
    // A program's own class of this name keeps its destructor.
    let of_toolkit = BARRIERS.iter().any(|header| path.ends_with(header));
    let adapted = of_toolkit.then(|| default_destructor(text)).flatten();
    dialect::adapt(adapted.as_deref().unwrap_or(text)).or(adapted)
}

/// Defaults the barrier's destructor. `None` if the header does not define one with a body.
fn default_destructor(text: &str) -> Option<String> {
    let name = text.find("~barrier()")?;
    let start = name + text[name..].find(['{', ';', '='])?;
    if !text[start..].starts_with('{') {
        return None;
    }
    let mut depth = 0;
    let length = text[start..].find(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let (before, rest) = text.split_at(start);
    let (body, after) = rest.split_at(length + 1);
    let lines = "\n".repeat(body.matches('\n').count());
    Some(format!("{before}= default;{lines}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLKIT: &str = "/cuda/include/cuda/__barrier/barrier_block_scope.h";

    fn adapt_toolkit(text: &str) -> Option<String> {
        adapt(Path::new(TOOLKIT), text)
    }

    #[test]
    fn a_program_s_own_barrier_keeps_its_destructor() {
        let own = "struct barrier {\n  ~barrier() { f(); }\n};\n";
        assert_eq!(adapt(Path::new("src/barrier.h"), own), None);
        assert!(adapt_toolkit(own).is_some());
    }

    #[test]
    fn only_another_header_hides_that_of_cuda() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = root.path().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            folder
        };
        let theirs = folder("cuda/include").join("cuda.h");
        std::fs::write(&theirs, "").unwrap();
        std::os::unix::fs::symlink(&theirs, folder("links").join("cuda.h")).unwrap();
        std::fs::write(folder("own").join("cuda.h"), "").unwrap();
        folder("empty");
        let hides = |option: &str, name: &str| {
            let folder = root.path().join(name).display().to_string();
            let args = Args::parse([option, &folder, "-c", "a.cu"].map(Into::into).into()).unwrap();
            hides_cuda_header(&args, &root.path().join("cuda"))
        };
        assert!(["-I", "-iquote", "-isystem"].into_iter().all(|option| hides(option, "own")));
        assert!(["links", "empty", "cuda/include"].into_iter().all(|name| !hides("-I", name)));
    }

    #[test]
    fn headers_are_found_beside_their_includer_and_in_folders() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        let launch = "k<< <1, 2>> >();\n";
        let source = file("src/a.cu", "#include \"b.h\"\n # include \"far.h\" // far\n#include <own.h>\n");
        let beside = file("src/b.h", &format!("#include \"b.h\"\n#include \"c.h\"\n{launch}"));
        let deeper = file("src/c.h", launch);
        let far = file("include/far.h", launch);
        file("include/b.h", launch);
        // Names in angle brackets are not beside their includer, and a toolkit's headers are not the project's.
        file("src/own.h", launch);
        file("cuda/own.h", launch);
        file("cuda/cuda_runtime_api.h", "");
        let own = file("include/own.h", &format!("#include <sys.h>\n{launch}"));
        let system = file("system/sys.h", launch);
        let folder = |name: &str| root.path().join(name).display().to_string();
        let words = ["-I", &folder("cuda"), "-I", &folder("include"), "-isystem", &folder("system"), "-c"];
        let words = words.into_iter().map(Into::into).chain([source.into()]).collect();
        let found: BTreeSet<PathBuf> = sources_to_adapt(&Args::parse(words).unwrap()).into_iter().collect();
        assert_eq!(found, [beside, deeper, far, own, system].into());
    }

    #[test]
    fn only_a_destructor_that_does_something_is_replaced() {
        let header = "struct barrier {\n  ~barrier() {\n    if (x) { f(); }\n  }\n  int y;\n};\n";
        let adapted = "struct barrier {\n  ~barrier() = default;\n\n\n  int y;\n};\n";
        assert_eq!(adapt_toolkit(header).as_deref(), Some(adapted));
        assert_eq!(adapt_toolkit(adapted), None);
        assert_eq!(adapt_toolkit("struct barrier { ~barrier(); void f() {} };"), None);
        assert_eq!(adapt_toolkit("struct barrier { int y; };"), None);
        assert_eq!(adapt_toolkit("struct barrier { ~barrier() { f();"), None);
    }

    #[test]
    fn operands_get_the_comma_between_them() {
        let header =
            "asm(\"x\"\n  : \"=r\"(a)\n  : \"r\"(b),\n    \"l\"(token)\n    \"r\"(wait)\n  : \"memory\");\n";
        assert_eq!(adapt_toolkit(header), Some(header.replace("(token)\n", "(token),\n")));
        assert_eq!(adapt_toolkit(&header.replace("(token)\n", "(token),\n")), None);
    }
}
