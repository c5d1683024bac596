//! What CUDA 13 changed in the runtime's API. A source that uses the old form compiles with the headers of CUDA 12
//! only. clang says what it does not accept, but not that CUDA 13 is the cause.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cuda::Version;
use crate::diagnostic::Error;
use crate::{dialect, headers};

/// The first version with the changes.
const SINCE: Version = Version { major: 13, minor: 0 };

/// Functions that are gone.
const GONE: [&str; 20] = [
    "cudaGraphAddDependencies_v2",
    "cudaGraphAddNode_v2",
    "cudaGraphGetEdges_v2",
    "cudaGraphNodeGetDependencies_v2",
    "cudaGraphNodeGetDependentNodes_v2",
    "cudaGraphRemoveDependencies_v2",
    "cudaLaunchCooperativeKernelMultiDevice",
    "cudaMemAdvise_v2",
    "cudaMemPrefetchAsync_v2",
    "cudaSetDoubleForDevice",
    "cudaSetDoubleForHost",
    "cudaStreamGetCaptureInfo_v2",
    "cudaStreamGetCaptureInfo_v3",
    "cudaStreamUpdateCaptureDependencies_v2",
    "cudaThreadExit",
    "cudaThreadGetCacheConfig",
    "cudaThreadGetLimit",
    "cudaThreadSetCacheConfig",
    "cudaThreadSetLimit",
    "cudaThreadSynchronize",
];

/// Functions with other parameters, and the fewest arguments that they take now.
const CHANGED: [(&str, usize); 9] = [
    ("cudaGraphAddDependencies", 5),
    ("cudaGraphAddNode", 6),
    ("cudaGraphGetEdges", 5),
    ("cudaGraphNodeGetDependencies", 4),
    ("cudaGraphNodeGetDependentNodes", 4),
    ("cudaGraphRemoveDependencies", 5),
    ("cudaMemAdvise", 4),
    ("cudaMemPrefetchAsync", 4),
    ("cudaStreamUpdateCaptureDependencies", 4),
];

/// Members of `cudaDeviceProp` that are gone.
const MEMBERS: [&str; 8] = [
    "clockRate",
    "computeMode",
    "cooperativeMultiDeviceLaunch",
    "deviceOverlap",
    "kernelExecTimeoutEnabled",
    "maxTexture1DLinear",
    "memoryClockRate",
    "singleToDoublePrecisionPerfRatio",
];

/// What Thrust and CUB no longer have. A project may bring older ones of its own.
const GONE_OF_LIBRARIES: [&str; 16] = [
    "cub::ConstantInputIterator",
    "cub::CountingInputIterator",
    "cub::DiscardOutputIterator",
    "cub::DivideAndRoundUp",
    "cub::Equality",
    "cub::FpLimits",
    "cub::GridBarrier",
    "cub::Max",
    "cub::Min",
    "cub::Sum",
    "cub::TransformInputIterator",
    "thrust::binary_function",
    "thrust::not1",
    "thrust::not2",
    "thrust::optional",
    "thrust::unary_function",
];

/// Folders of headers that are for C++17 and later since CUDA 13.
const LIBRARIES: [&str; 3] = ["cub/", "cuda/", "thrust/"];
/// How older standards are named behind `-std=`.
const OLDER: [&str; 8] = ["c++03", "c++0x", "c++11", "c++14", "gnu++03", "gnu++0x", "gnu++11", "gnu++14"];

/// What a user may do.
const WAY_OUT: &str = "change it, or compile with the headers of CUDA 12: `--cuda-path=DIR`";

/// A use of something that CUDA 13 changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The line, from 1.
    pub line: usize,
    /// What it names.
    pub name: &'static str,
    /// True if no header of CUDA 13 accepts it, whatever the types are.
    pub is_certain: bool,
}

impl Use {
    /// What to say of a certain one.
    pub fn error(&self) -> Error {
        let what = match GONE.contains(&self.name) {
            true => format!("calls `{}`, which CUDA 13 removed", self.name),
            false => format!("calls `{}` with fewer arguments than CUDA 13 wants", self.name),
        };
        Error::new(what).hint(WAY_OUT)
    }
}

/// What to say of sources that did not compile as this standard of C++, if they include what needs a newer one.
pub fn explain_standard(sources: &[(PathBuf, String)], standard: &str) -> Option<Error> {
    let needs = |line: &str| {
        let include = headers::included(line);
        include.is_some_and(|include| LIBRARIES.iter().any(|folder| include.name.starts_with(folder)))
    };
    let is_older = OLDER.contains(&standard);
    let (path, line) = sources.iter().filter(|_| is_older).find_map(|(path, text)| {
        let code = dialect::without_comments(text);
        code.lines().position(needs).map(|index| (path, index + 1))
    })?;
    let what = format!(
        "CUB, Thrust and libcu++ ({}:{line}) need C++17 since CUDA 13, found `-std={standard}`",
        path.display()
    );
    Some(Error::new(what).hint("set `-std=c++17`, or compile with the headers of CUDA 12: `--cuda-path=DIR`"))
}

/// True if a toolkit of this version has the changes.
pub fn is_since(version: Version) -> bool {
    version >= SINCE
}

/// Returns the uses in a source. Its comments do not count.
pub fn uses(text: &str) -> Vec<Use> {
    let code = dialect::without_comments(text);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(length) = code[at..].find(|c: char| c.is_ascii_alphabetic() || c == '_') {
        let start = at + length;
        let rest = &code[start..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        if let Some((name, is_certain)) = known(&code[..start], &rest[..end], &rest[end..]) {
            found.push(Use { line: 1 + code[..start].matches('\n').count(), name, is_certain });
        }
        at = start + end;
    }
    found
}

/// The changed thing that a word is, by what stands before and behind it.
fn known(before: &str, word: &str, behind: &str) -> Option<(&'static str, bool)> {
    let is_member = before.ends_with('.') || before.ends_with("->");
    if is_member {
        return MEMBERS.into_iter().find(|name| *name == word).map(|name| (name, false));
    }
    let is_it = |name: &&str| name.strip_suffix(word).is_some_and(|space| before.ends_with(space));
    if let Some(name) = GONE_OF_LIBRARIES.into_iter().find(is_it) {
        return Some((name, false));
    }
    let arguments = behind.trim_start().strip_prefix('(').map(count_arguments)?;
    if let Some(name) = GONE.into_iter().find(|name| *name == word) {
        // A declaration has a type before it.
        let before = before.trim_end();
        let is_call = before.is_empty() || before.ends_with([';', '{', '}', '(', ')', '=', ',', ':', '!']);
        return Some((name, is_call));
    }
    let (name, fewest) = CHANGED.into_iter().find(|(name, _)| *name == word)?;
    // `cudaMemAdvise(args...)` may stand for any number.
    Some((name, arguments.is_some_and(|count| count < fewest)))
}

/// The number of arguments in brackets that have just opened. `None` if it cannot be told.
fn count_arguments(text: &str) -> Option<usize> {
    let (bytes, mut at, mut depth, mut count) = (text.as_bytes(), 0, 0_usize, 1);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => return (!text[..at].contains("...")).then_some(count),
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => count += 1,
            // A template's arguments have commas, too.
            b'<' | b'#' => return None,
            _ => {}
        }
        at = dialect::end_of_text(bytes, at).unwrap_or(at + 1);
    }
    None
}

/// What to say of sources that did not compile with a toolkit of CUDA 13. `None` if nothing of this is in them.
pub fn explain(sources: &[(PathBuf, String)]) -> Option<Error> {
    let mut first: BTreeMap<&str, (&Path, usize)> = BTreeMap::new();
    for (path, text) in sources {
        // Another struct may have members of these names.
        let has_properties = text.contains("cudaDeviceProp");
        for found in uses(text).into_iter().filter(|found| has_properties || !MEMBERS.contains(&found.name)) {
            first.entry(found.name).or_insert((path, found.line));
        }
    }
    if first.is_empty() {
        return None;
    }
    let places = first.iter().map(|(name, (path, line))| format!("`{name}` ({}:{line})", path.display()));
    let places: Vec<String> = places.collect();
    Some(Error::new(format!("CUDA 13 changed or removed {}", places.join(", "))).hint(WAY_OUT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<(usize, &'static str, bool)> {
        uses(text).into_iter().map(|found| (found.line, found.name, found.is_certain)).collect()
    }

    #[test]
    fn what_no_header_of_cuda_13_accepts_is_certain() {
        for (text, name) in [
            ("void f() { cudaThreadSynchronize(); }", "cudaThreadSynchronize"),
            ("CHECK(cudaThreadExit ());", "cudaThreadExit"),
            ("x = cudaStreamGetCaptureInfo_v2(s, &state);", "cudaStreamGetCaptureInfo_v2"),
            ("cudaMemPrefetchAsync(p, n * f(1, 2), 0);", "cudaMemPrefetchAsync"),
            ("x = cudaGraphAddDependencies(g, &a,\n &b, 1);", "cudaGraphAddDependencies"),
            ("cudaGraphAddNode(&n, g, d, {1, 2}, &p);", "cudaGraphAddNode"),
        ] {
            assert_eq!(said(text), [(1, name, true)], "{text}");
        }
    }

    #[test]
    fn what_may_be_right_is_not_certain() {
        for (text, found) in [
            ("\ncudaMemPrefetchAsync(p, n, place, 0);", vec![(2, "cudaMemPrefetchAsync", false)]),
            ("cudaMemPrefetchAsync(args...);", vec![(1, "cudaMemPrefetchAsync", false)]),
            ("cudaGraphAddNode(&n, g, pair<int, int>());", vec![(1, "cudaGraphAddNode", false)]),
            ("cudaGraphAddNode(&n, g,", vec![(1, "cudaGraphAddNode", false)]),
            ("cudaError_t cudaThreadExit();", vec![(1, "cudaThreadExit", false)]),
            (
                "use(p.clockRate + q->deviceOverlap);",
                vec![(1, "clockRate", false), (1, "deviceOverlap", false)],
            ),
            ("int clockRate = mine.rate; // cudaThreadExit()", vec![]),
            ("struct S : thrust::unary_function<int, int> {};", vec![(1, "thrust::unary_function", false)]),
            ("cub::Sum(); mine::Sum(); cub::Sums(); thrust::Max();", vec![(1, "cub::Sum", false)]),
            ("mycudaThreadExit(); cudaThreadExits(); s.cudaThreadExit();", vec![]),
            ("cudaGraphAddDependencies(g, a, b, e, 1);", vec![(1, "cudaGraphAddDependencies", false)]),
        ] {
            assert_eq!(said(text), found, "{text}");
        }
    }

    #[test]
    fn old_standards_are_named_where_a_library_needs_a_new_one() {
        let file = |text: &str| [(PathBuf::from("a.cu"), text.to_owned())];
        let cub = file("// #include <cub/a.cuh>\n#include <cub/cub.cuh>\n");
        insta::assert_snapshot!(explain_standard(&cub, "c++11").unwrap().to_string(), @r"
        error: CUB, Thrust and libcu++ (a.cu:2) need C++17 since CUDA 13, found `-std=c++11`
        hint: set `-std=c++17`, or compile with the headers of CUDA 12: `--cuda-path=DIR`
        ");
        assert_eq!(explain_standard(&cub, "c++17"), None);
        assert_eq!(explain_standard(&file("#include <cuda_fp16.h>\n#include \"cuda.h\"\n"), "c++11"), None);
    }

    #[test]
    fn a_failure_names_the_first_place_of_each() {
        let file = |text: &str| (PathBuf::from("a.cu"), text.to_owned());
        assert_eq!(explain(&[file("int main() { return f(); }")]), None);
        let mine = file("int f(Chip p) { return p.clockRate; }");
        assert_eq!(explain(&[mine]), None);
        let properties = file("cudaDeviceProp p;\np.clockRate;\n");
        let error = explain(&[properties, file("cudaMemAdvise(p, 1, a, 0);")]).unwrap();
        insta::assert_snapshot!(error.to_string(), @r"
        error: CUDA 13 changed or removed `clockRate` (a.cu:2), `cudaMemAdvise` (a.cu:1)
        hint: change it, or compile with the headers of CUDA 12: `--cuda-path=DIR`
        ");
    }
}
