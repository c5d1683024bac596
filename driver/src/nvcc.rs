//! Translates nvcc's own arguments to clang's, for build files that were written for nvcc. Arguments that are
//! not in [`TABLE`] go to clang as they are.

mod table;

use std::ffi::OsString;

use crate::clang_options as clang;
use crate::diagnostic::Error;

use Meaning::{
    Arch, Contraction, DefaultStream, Gencode, Joined, Language, Linker, Next, Nothing, Parts, Refused, Same,
    Separate, Werror, Words,
};
use table::{PER_THREAD, Row, TABLE};

/// The translation of an argument of nvcc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// Itself: another part of gclang reads it.
    Same,
    /// Nothing.
    Nothing,
    /// These words.
    Words(&'static [&'static str]),
    /// This word with the value joined to it.
    Joined(&'static str),
    /// This word, then the value as the next word.
    Next(&'static str),
    /// One word for each part of the value between commas.
    Parts,
    /// `-Wl,` with the value. clang's own `-Xlinker WORD` takes a word without a comma.
    Linker,
    /// `--cuda-gpu-arch=sm_80`, for `sm_80` or `compute_80`.
    Arch,
    /// `--cuda-gpu-arch=sm_80`, for `arch=compute_80,code=sm_80`.
    Gencode,
    /// `-x cuda`, for `cu`. Other languages are clang's.
    Language,
    /// [`PER_THREAD`], for `per-thread`.
    DefaultStream,
    /// `-ffp-contract=off`, for `false`.
    Contraction,
    /// `-Werror`, for `all-warnings`. nvcc's other kinds become nothing, and all others are clang's.
    Werror,
    /// `-fgpu-rdc` for `true`, `-fno-gpu-rdc` for `false`.
    Separate,
    /// An error with this hint.
    Refused(&'static str),
}

/// Translates a command line to clang's words. It does not have the program's name, and its response files
/// are expanded.
///
/// # Errors
/// clang has nothing like an argument of nvcc.
pub fn translate(words: Vec<OsString>) -> Result<Vec<OsString>, Error> {
    let mut out = Vec::with_capacity(words.len());
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        if text == "--" {
            out.push(word);
            out.extend(words);
            break;
        }
        let next = words.peek().map(|next| next.to_string_lossy().into_owned());
        match read(&text, next.as_deref()) {
            Some(Reading { name, value, used_next, meaning }) => {
                if used_next {
                    words.next();
                }
                meaning.write(name, value.as_deref().unwrap_or_default(), &mut out)?;
            }
            None => {
                out.push(word);
                if clang::takes_next_word(&text) {
                    out.extend(words.next());
                }
            }
        }
    }
    Ok(out)
}

/// Returns an error for each argument that clang has nothing like.
pub fn refused(words: &[&str]) -> Vec<Error> {
    let of = |(at, word): (usize, &&str)| {
        let reading = read(word, words.get(at + 1).copied())?;
        let is_refused = matches!(reading.meaning, Refused(_));
        is_refused.then(|| reading.meaning.write(word, "", &mut Vec::new()).err()).flatten()
    };
    words.iter().enumerate().filter_map(of).collect()
}

/// An argument of nvcc.
struct Reading<'a> {
    name: &'a str,
    value: Option<String>,
    /// True if the value was the next word.
    used_next: bool,
    meaning: Meaning,
}

/// Finds a word in the table. `None` if it is clang's.
fn read<'a>(word: &'a str, next: Option<&str>) -> Option<Reading<'a>> {
    let (bare, dashes) = match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(bare), _) => (bare, 2),
        (None, Some(bare)) => (bare, 1),
        (None, None) => return None,
    };
    let (name, joined) = match bare.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (bare, None),
    };
    // nvcc also accepts `-t4`.
    let (name, joined) = match bare.strip_prefix('t').filter(|count| is_number(count)) {
        Some(count) if dashes == 1 => ("t", Some(count)),
        _ => (name, joined),
    };
    // `x` is the only name of one letter that nvcc accepts after two dashes.
    if name.len() == 1 && dashes == 2 && name != "x" {
        return None;
    }
    let row = TABLE.iter().find(|row| row.is_named(name, dashes))?;
    let (takes_value, meaning) = (row.sample.is_some(), row.meaning);
    if meaning == Same || row.is_clangs(word) {
        return None;
    }
    let found = |value: Option<&str>, used_next| {
        Some(Reading { name: word, value: value.map(str::to_owned), used_next, meaning })
    };
    if !takes_value {
        // `-G 8` is an option of clang.
        let clangs = joined.is_some() || (name == "G" && next.is_some_and(is_number));
        return if clangs { None } else { found(None, false) };
    }
    let value = joined.or(next)?;
    // With other values, or without a value, some names are options of clang.
    let is_nvccs = match (meaning, name) {
        (Arch, _) => gpu_arch(value).is_some() || matches!(value, "native" | "all" | "all-major"),
        (Language, _) => value == "cu",
        (Werror, _) => {
            joined.is_none()
                && matches!(
                    value,
                    "all-warnings"
                        | "cross-execution-space-call"
                        | "default-stream-launch"
                        | "reorder"
                        | "deprecated-declarations"
                )
                || value == "all-warnings"
        }
        (_, "t") => is_number(value),
        (Linker, "Xlinker") => joined.is_some() || value.contains(','),
        _ => true,
    };
    if is_nvccs { found(Some(value), joined.is_none()) } else { None }
}

impl Row {
    /// True if a word with this name after so many dashes is this argument.
    fn is_named(&self, name: &str, dashes: usize) -> bool {
        self.names.iter().any(|own| match own.strip_prefix('-') {
            Some(own) => dashes == 2 && own == name,
            None => *own == name,
        })
    }

    /// True if clang reads this word as nvcc does: then its value may be joined to it in clang's ways.
    fn is_clangs(&self, word: &str) -> bool {
        match self.meaning {
            Words(&[own]) | Joined(own) | Next(own) => {
                word == own
                    || own.strip_suffix('=').is_some_and(|own| word.starts_with(own) && word.contains('='))
            }
            _ => false,
        }
    }

    /// Returns the argument as build files write it: two dashes before the last name of a row, one before its short
    /// names.
    fn spelled(&self, name: &str) -> String {
        let is_long = name.len() > 1 && (name.starts_with('-') || self.names.last() == Some(&name));
        let (dashes, equals) = if is_long { ("--", "=") } else { ("-", " ") };
        let value = self.sample.map_or(String::new(), |value| format!("{equals}{value}"));
        format!("{dashes}{}{value}", name.trim_start_matches('-'))
    }
}

/// Returns the table as Markdown.
pub fn markdown_table() -> String {
    let mut text = String::from("| of nvcc | becomes | because |\n|---|---|---|\n");
    for row in TABLE {
        let names: Vec<_> = row.names.iter().map(|name| format!("`{}`", row.spelled(name))).collect();
        let last = row.spelled(row.names.last().unwrap_or(&""));
        let becomes = match translate(last.split(' ').map(Into::into).collect()) {
            Ok(_) if row.meaning == Same => "the contents of the file".to_owned(),
            Ok(words) if words.is_empty() => "nothing".to_owned(),
            Ok(words) => {
                let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
                format!("`{}`", words.join(" "))
            }
            Err(_) => "an error".to_owned(),
        };
        let why = if let Refused(hint) = row.meaning { hint } else { row.why };
        text += &format!("| {} | {becomes} | {why} |\n", names.join(", "));
    }
    text
}

/// Returns the words with each `--options-file FILE,…` as [`response::expand`] reads it: `@FILE`.
///
/// [`response::expand`]: crate::response::expand
pub fn options_files(words: Vec<OsString>) -> Vec<OsString> {
    let mut out = Vec::with_capacity(words.len());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let joined = ["--options-file=", "-options-file=", "--optf=", "-optf="]
            .iter()
            .find_map(|name| text.strip_prefix(name).map(str::to_owned));
        let files = match &*text {
            "--options-file" | "-options-file" | "--optf" | "-optf" => {
                words.next().map(|file| file.to_string_lossy().into_owned())
            }
            _ => joined,
        };
        match files {
            Some(files) => out.extend(files.split(',').map(|file| format!("@{file}").into())),
            None => out.push(word),
        }
    }
    out
}

impl Meaning {
    /// Appends clang's words for an argument with this value.
    fn write(self, word: &str, value: &str, out: &mut Vec<OsString>) -> Result<(), Error> {
        match self {
            Same | Nothing => {}
            Words(words) => out.extend(words.iter().map(OsString::from)),
            Joined(option) => out.push(format!("{option}{value}").into()),
            Next(option) => out.extend([option.into(), value.into()]),
            Linker => out.push(format!("-Wl,{}", parts(value).join(",")).into()),
            Parts => {
                let words: Vec<_> = parts(value).into_iter().filter_map(of_gcc).collect();
                let is_warning = |word: &String| word.starts_with("-W") && !word.contains(',');
                let names_warning = words.iter().any(is_warning);
                out.extend(words.into_iter().map(OsString::from));
                // GCC has warnings that clang does not know.
                out.extend(names_warning.then(|| UNKNOWN_WARNINGS.into()));
            }
            Arch => out.extend(gpu_arch(value).map(option_of_arch)),
            Gencode => {
                let arch = value.split(',').find_map(|part| part.trim_matches('"').strip_prefix("arch="));
                let arch = arch.and_then(gpu_arch).ok_or_else(|| {
                    Error::new(format!("invalid value `{value}` of `{word}`"))
                        .hint("write a value such as `arch=compute_80,code=sm_80`")
                })?;
                out.push(option_of_arch(arch));
            }
            Language => out.extend(["-x".into(), "cuda".into()]),
            DefaultStream if value == "per-thread" => {
                out.extend(PER_THREAD.iter().map(OsString::from));
            }
            DefaultStream => {}
            Contraction if value == "false" => out.push("-ffp-contract=off".into()),
            Contraction => {}
            Separate => match value {
                "true" => out.push("-fgpu-rdc".into()),
                "false" => out.push("-fno-gpu-rdc".into()),
                _ => {
                    return Err(Error::new(format!("invalid value `{value}` of `{word}`"))
                        .hint("the values are `true` and `false`"));
                }
            },
            Werror if value == "all-warnings" => out.push("-Werror".into()),
            Werror => {}
            Refused(hint) => {
                let option = word.split('=').next().unwrap_or(word);
                return Err(Error::new(format!("nvcc's `{option}` is not supported")).hint(hint));
            }
        }
        Ok(())
    }
}

/// Returns `sm_80` for `sm_80`, `compute_80` or `lto_80`.
fn gpu_arch(value: &str) -> Option<String> {
    let number = ["sm_", "compute_", "lto_"].iter().find_map(|prefix| value.strip_prefix(prefix))?;
    let is_arch =
        number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(|c| c.is_ascii_alphanumeric());
    is_arch.then(|| format!("sm_{number}"))
}

fn option_of_arch(arch: String) -> OsString {
    format!("--cuda-gpu-arch={arch}").into()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// Keeps clang from warning of the names of GCC's warnings.
const UNKNOWN_WARNINGS: &str = "-Wno-unknown-warning-option";

/// Returns clang's word for one of GCC, nvcc's host compiler. `None` for those that make errors of GCC's warnings:
/// clang warns of other things, also in device code, which GCC does not read.
fn of_gcc(word: String) -> Option<String> {
    match word.as_str() {
        "-export-dynamic" => Some("-rdynamic".to_owned()),
        "-Werror" | "-pedantic-errors" => None,
        _ if word.starts_with("-Werror=") => None,
        _ => Some(word),
    }
}

/// Returns the host compiler's words in a value of `-Xcompiler`. Commas and spaces separate them, unless
/// quoted or after a backslash.
fn parts(value: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => parts.last_mut().expect("never empty").extend(chars.next()),
            '"' | '\'' if quote.is_none() => quote = Some(c),
            _ if quote == Some(c) => quote = None,
            ',' | ' ' if quote.is_none() => parts.push(String::new()),
            _ => parts.last_mut().expect("never empty").push(c),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(line: &str) -> Result<String, Error> {
        let words = translate(line.split_whitespace().map(Into::into).collect())?;
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        Ok(words.join(" "))
    }

    fn becomes(line: &str, want: &str) {
        assert_eq!(translated(line).unwrap(), want, "{line}");
    }

    #[test]
    fn architectures() {
        becomes("-arch=sm_80 a.cu", "--cuda-gpu-arch=sm_80 a.cu");
        becomes("-arch sm_90a", "--cuda-gpu-arch=sm_90a");
        becomes("--gpu-architecture=compute_70 --gpu-code=sm_70,sm_75", "--cuda-gpu-arch=sm_70");
        becomes(
            "-gencode arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90]",
            "--cuda-gpu-arch=sm_80 --cuda-gpu-arch=sm_90",
        );
        becomes("-gencode=\"arch=compute_75,code=sm_75\"", "--cuda-gpu-arch=sm_75");
        becomes("-arch=native a.cu", "a.cu");
        // Other architectures are for clang's own `-arch`.
        becomes("-arch x86_64", "-arch x86_64");
        let error = translated("-gencode code=sm_80").unwrap_err();
        insta::assert_snapshot!(error, @r"
        error: invalid value `code=sm_80` of `-gencode`
        hint: write a value such as `arch=compute_80,code=sm_80`
        ");
    }

    #[test]
    fn options_of_the_host_compiler() {
        becomes("-Xcompiler -fPIC,-O2", "-fPIC -O2");
        becomes("-Xcompiler -Wno-class-memaccess", "-Wno-class-memaccess -Wno-unknown-warning-option");
        becomes("-Xcompiler=-fopenmp --compiler-options -O2", "-fopenmp -O2");
        becomes("-Xcompiler -export-dynamic,-O2", "-rdynamic -O2");
        let quiet = "-Wno-unknown-warning-option";
        becomes("-Xcompiler -Wall,-Werror,-Werror=x,-O2 -Werror", &format!("-Wall -O2 {quiet} -Werror"));
        becomes("-Xcompiler -Wl\\,-z\\,now", "-Wl,-z,now");
        becomes("-Xcompiler ,\"-Wall\",\"-fPIC\"", &format!("-Wall -fPIC {quiet}"));
        assert_eq!(parts("\"-DNAME=a b\" '-g'"), ["-DNAME=a b", "-g"]);
        assert_eq!(parts("-Wall -O2"), ["-Wall", "-O2"]);
        becomes("-ccbin g++ -ccbin=/usr/bin/g++ a.cu", "a.cu");
        becomes("--linker-options -rpath,/x", "-Wl,-rpath,/x");
        becomes("-Xlinker -rpath,/x -Xlinker=-z,now", "-Wl,-rpath,/x -Wl,-z,now");
    }

    #[test]
    fn what_clang_always_does_or_never_runs() {
        becomes("--expt-relaxed-constexpr a.cu", "-D__CUDACC_RELAXED_CONSTEXPR__=1 a.cu");
        becomes("-expt-extended-lambda a.cu", "-D__CUDACC_EXTENDED_LAMBDA__=1 a.cu");
        becomes("-Xptxas -v --ptxas-options=-O3,-v -Xcudafe --diag_suppress=1 a.cu", "a.cu");
        becomes("-use_fast_math --use_fast_math -ftz=true -prec-div=false -maxrregcount 32 a.cu", "a.cu");
        becomes("-cudart static -cudart=shared --default-stream legacy a.cu", "a.cu");
        becomes("-t 4 -t=4 -t0 --threads=8 a.cu", "a.cu");
        becomes("-fmad=false --fmad true a.cu", "-ffp-contract=off a.cu");
    }

    #[test]
    fn what_clang_calls_otherwise() {
        becomes("-x cu a.cpp", "-x cuda a.cpp");
        becomes("--x cu a.cpp", "-x cuda a.cpp");
        becomes("-std c++17", "-std=c++17");
        becomes("--std=c++17", "-std=c++17");
        becomes("-lineinfo", "-gline-tables-only");
        becomes("-G a.cu", "-g a.cu");
        becomes("-Werror all-warnings a.cu", "-Werror a.cu");
        becomes("--output-file app --include-path=inc", "-o app -Iinc");
        becomes("-rdc true -rdc=false", "-fgpu-rdc -fno-gpu-rdc");
        becomes("-dc a.cu", "-c -fgpu-rdc a.cu");
        becomes("--device-link a.o", "-dlink a.o");
        becomes("-lib -o a.a a.cu", "--lib -o a.a a.cu");
        let own = "-Xclang -fgpu-default-stream=per-thread -DCUDA_API_PER_THREAD_DEFAULT_STREAM";
        becomes("--default-stream per-thread", own);
        becomes("-fgpu-default-stream=per-thread", own);
        becomes("-ptx", "--cuda-device-only -S");
        becomes("-fatbin", "--cuda-device-only");
    }

    #[test]
    fn words_of_clang_stay() {
        for line in [
            "-x c++ a.cpp",
            "-x cuda a.cu",
            "-G 8 a.cu",
            "-t a.o",
            "-Werror a.cu",
            "-Werror=reorder a.cu",
            "-o -G a.cu",
            "-MF -t a.cu",
            "-Xlinker -z -Xlinker now",
            "-Xclang -arch -DG -lm -- -G",
            "-fgpu-rdc -gline-tables-only -std=c++17",
            "--G",
            "",
        ] {
            becomes(line, line);
        }
    }

    #[test]
    fn refusals_name_the_argument() {
        let error = translated("-run a.cu").unwrap_err();
        insta::assert_snapshot!(error, @r"
        error: nvcc's `-run` is not supported
        hint: compile to an executable, and run it
        ");
        assert!(translated("-rdc maybe").is_err());
        let error = translated("--output-directory=x").unwrap_err();
        assert!(error.to_string().starts_with("error: nvcc's `--output-directory` is"));
        assert!(translated("-ltoir a.cu").is_err());
    }

    #[test]
    fn each_name_stands_in_one_row() {
        let mut names: Vec<_> = TABLE.iter().flat_map(|row| row.names).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn every_name_of_a_row_means_the_same() {
        for row in TABLE {
            let of = |name: &&str| translated(&row.spelled(name)).map_err(|_| "an error");
            let wanted = of(row.names.last().unwrap());
            assert_eq!(wanted.is_err(), matches!(row.meaning, Refused(_)), "{:?}", row.names);
            assert_eq!(row.why.is_empty(), wanted.is_err(), "{:?}", row.names);
            for name in row.names.iter().filter(|_| row.meaning != Same) {
                let squeezed = |words: Result<String, _>| words.map(|words| words.replace(' ', ""));
                assert_eq!(squeezed(of(name)), squeezed(wanted.clone()), "{name}");
            }
        }
    }

    #[test]
    fn options_files_are_response_files() {
        let words = "-c --options-file a,b -optf=c x.cu".split(' ').map(Into::into).collect();
        let expected: Vec<OsString> = ["-c", "@a", "@b", "@c", "x.cu"].map(Into::into).into();
        assert_eq!(options_files(words), expected);
    }
}
