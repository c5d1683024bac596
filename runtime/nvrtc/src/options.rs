//! The options of NVRTC. Most are nvcc's, which gclang takes.

/// Options of NVRTC that change nothing here: they are about its precompiled headers, its times and its caches. Those
/// that end with `=` have a value.
const WITHOUT_EFFECT: &[&str] = &[
    "--builtin-initializer-list=",
    "-builtin-initializer-list=",
    "--builtin-move-forward=",
    "-builtin-move-forward=",
    "--create-pch=",
    "-create-pch=",
    "--dopt=",
    "-dopt=",
    "--fdevice-time-trace=",
    "-fdevice-time-trace=",
    "--instantiate-templates-in-pch=",
    "-instantiate-templates-in-pch=",
    "--minimal",
    "-minimal",
    "--no-cache",
    "-no-cache",
    "--pch",
    "-pch",
    "--pch-dir=",
    "-pch-dir=",
    "--pch-messages=",
    "-pch-messages=",
    "--pch-verbose=",
    "-pch-verbose=",
    "--time=",
    "-time=",
    "--use-pch=",
    "-use-pch=",
];

/// What a program asks of the compiler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The words that gclang gets.
    pub words: Vec<String>,
    /// Functions without an execution space are for the device.
    pub default_device: bool,
    /// Headers in quotation marks are not searched for in the folder of the source.
    pub no_source_folder: bool,
}

impl Options {
    /// The options that a program gives. `asks` is true if it has name expressions, which need C++17.
    pub fn new(given: &[String], asks: bool) -> Self {
        let mut options = Self::default();
        let mut words = given.iter().flat_map(|option| split(option));
        while let Some(word) = words.next() {
            match word {
                "--device-as-default-execution-space" | "-default-device" => options.default_device = true,
                "--no-source-include" | "-no-source-include" => options.no_source_folder = true,
                "--pre-include" | "-include" => {
                    options.words.push("-include".to_owned());
                    options.words.extend(words.next().map(str::to_owned));
                }
                _ if WITHOUT_EFFECT.iter().any(|of| is(word, of)) => {}
                _ => options.words.push(renamed(word, asks)),
            }
        }
        options
    }
}

/// An option and its value may stand in one string.
fn split(option: &str) -> impl Iterator<Item = &str> {
    let option = option.trim();
    let (first, value) = match option.split_once(' ') {
        Some((first, value)) if first.starts_with('-') && !first.contains('=') => (first, Some(value.trim())),
        _ => (option, None),
    };
    std::iter::once(first).chain(value)
}

fn is(word: &str, option: &str) -> bool {
    if option.ends_with('=') { word.starts_with(option) } else { word == option }
}

fn renamed(word: &str, asks: bool) -> String {
    if let Some(file) = word.strip_prefix("--pre-include=") {
        return format!("-include{file}");
    }
    let standard = word.strip_prefix("--std=").or_else(|| word.strip_prefix("-std="));
    match standard {
        Some("c++03" | "c++11" | "c++14") if asks => "--std=c++17".to_owned(),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(given: &[&str], asks: bool) -> Vec<String> {
        let given: Vec<String> = given.iter().map(|&option| option.to_owned()).collect();
        Options::new(&given, asks).words
    }

    #[test]
    fn gclang_gets_the_options_that_mean_something_to_it() {
        let given =
            ["--gpu-architecture=compute_80", "-I /headers", "-D", "N=4", "--pch", "--time=-", "-DM=a b"];
        assert_eq!(
            words(&given, false),
            ["--gpu-architecture=compute_80", "-I", "/headers", "-D", "N=4", "-DM=a b"]
        );
        assert_eq!(
            words(&["--pre-include=a.h", "-include", "b.h"], false),
            ["-includea.h", "-include", "b.h"]
        );
    }

    #[test]
    fn name_expressions_need_their_standard() {
        assert_eq!(words(&["--std=c++11", "-std=c++20"], true), ["--std=c++17", "-std=c++20"]);
        assert_eq!(words(&["--std=c++11"], false), ["--std=c++11"]);
    }

    #[test]
    fn the_default_space_is_no_word() {
        let options = Options::new(&["-default-device".to_owned(), "--no-source-include".to_owned()], false);
        assert!(options.default_device && options.no_source_folder && options.words.is_empty());
    }
}
