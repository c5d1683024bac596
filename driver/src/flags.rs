//! The flags that gpurace adds to clang's, each defined once: parsing, help
//! and "did you mean" read [`FLAGS`].

use std::path::PathBuf;

use gpurace_abi::plugin::Prune;
use serde::Serialize;

use crate::diagnostic::Error;

/// A flag that gpurace adds, with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flag {
    /// `-fgpurace-exec=`
    Exec(Exec),
    /// `-fgpurace-prune=`
    Prune(Prune),
    /// `-fgpurace-facts=`
    Facts(PathBuf),
    /// `-Wgpurace`, `-Wno-gpurace`
    Warn(bool),
    /// `-Werror=gpurace`, `-Wno-error=gpurace`
    Werror(bool),
    /// `--clang=`
    Clang(PathBuf),
}

/// The device images that go into the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Exec {
    /// One for the host's processor.
    Cpu,
    /// One for an NVIDIA GPU.
    Cuda,
    /// Both: the program uses a GPU if there is one.
    #[default]
    Auto,
}

/// One flag as the user types it.
pub struct Definition {
    /// The spelling; ends with `=` where a value follows.
    pub spelling: &'static str,
    /// The value as shown in the help.
    pub value: &'static str,
    /// The accepted values, the default first; empty if any value is accepted.
    pub choices: &'static [&'static str],
    /// One line of help.
    pub help: &'static str,
    parse: fn(&str) -> Flag,
}

/// All flags that gpurace adds, except `-fsanitize=gpurace`, which is a value of clang's own flag.
pub const FLAGS: &[Definition] = &[
    Definition {
        spelling: "-fgpurace-exec=",
        value: "cpu|cuda|auto",
        choices: &["auto", "cpu", "cuda"],
        help: "Device images in the object: for the host's processor, for an NVIDIA GPU (see `docs/gpu.md`), or both",
        parse: |v| {
            Flag::Exec(match v {
                "cpu" => Exec::Cpu,
                "cuda" => Exec::Cuda,
                _ => Exec::Auto,
            })
        },
    },
    Definition {
        spelling: "-fgpurace-prune=",
        value: "off|compile|launch",
        choices: &["launch", "compile", "off"],
        help: "When to prove accesses free of races and remove their checks: never, at compile time, or also at launch",
        parse: |v| {
            Flag::Prune(match v {
                "off" => Prune::Off,
                "compile" => Prune::Compile,
                _ => Prune::Launch,
            })
        },
    },
    Definition {
        spelling: "-fgpurace-facts=",
        value: "FILE",
        choices: &[],
        help: "Write the verdict on every access to FILE as JSON",
        parse: |v| Flag::Facts(v.into()),
    },
    Definition {
        spelling: "-Wgpurace",
        value: "",
        choices: &[],
        help: "Warn about races proved at compile time (on by default)",
        parse: |_| Flag::Warn(true),
    },
    Definition {
        spelling: "-Wno-gpurace",
        value: "",
        choices: &[],
        help: "Do not warn about races proved at compile time",
        parse: |_| Flag::Warn(false),
    },
    Definition {
        spelling: "-Werror=gpurace",
        value: "",
        choices: &[],
        help: "Treat races proved at compile time as errors",
        parse: |_| Flag::Werror(true),
    },
    Definition {
        spelling: "-Wno-error=gpurace",
        value: "",
        choices: &[],
        help: "Treat races proved at compile time as warnings even with `-Werror`",
        parse: |_| Flag::Werror(false),
    },
    Definition {
        spelling: "--clang=",
        value: "PATH",
        choices: &[],
        help: "The clang 22 to run",
        parse: |v| Flag::Clang(v.into()),
    },
];

/// Parses one argument. Returns `None` if it is not a flag that gpurace adds.
pub fn parse(arg: &str) -> Result<Option<Flag>, Error> {
    for def in FLAGS {
        let takes_value = def.spelling.ends_with('=');
        let value = match arg.strip_prefix(def.spelling) {
            Some("") if !takes_value => "",
            Some(value) if takes_value => value,
            _ => continue,
        };
        if takes_value && value.is_empty() {
            return Err(Error::new(format!("no value in `{arg}`"))
                .hint(format!("write `{}{}`", def.spelling, def.value)));
        }
        if !def.choices.is_empty() && !def.choices.contains(&value) {
            return Err(Error::new(format!("invalid value `{value}` in `{arg}`"))
                .hint(format!("the values are {}", list(def.choices))));
        }
        return Ok(Some((def.parse)(value)));
    }
    if arg.starts_with("-fgpurace") || arg.starts_with("-fno-gpurace") {
        return Err(unknown(arg));
    }
    Ok(None)
}

/// Returns the error for a misspelt flag, with the most similar known flag as a hint.
fn unknown(arg: &str) -> Error {
    let typed = arg.split_inclusive('=').next().unwrap_or(arg);
    // Jaro-Winkler weighs the start of a word most, so a flag cut short is similar to the whole one.
    let nearest = FLAGS
        .iter()
        .map(|def| def.spelling)
        .chain(["-fsanitize=gpurace"])
        .filter(|spelling| spelling.starts_with("-f"))
        .map(|spelling| (strsim::jaro_winkler(typed, spelling), spelling))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let error = Error::new(format!("unknown argument `{arg}`"));
    match nearest {
        Some((likeness, spelling)) if likeness > 0.8 => error.hint(format!("did you mean `{spelling}`?")),
        _ => error,
    }
}

/// Returns the error for a misspelt `gpurace` in `-fsanitize=`.
pub fn unknown_sanitizer(value: &str) -> Error {
    Error::new(format!("invalid value `{value}` in `-fsanitize={value}`"))
        .hint("did you mean `-fsanitize=gpurace`?")
}

/// `` `a`, `b` or `c` ``.
pub fn list(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|w| format!("`{w}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// Returns the flags as a Markdown table.
pub fn markdown_table() -> String {
    let mut text = String::from("| flag | meaning | default |\n|---|---|---|\n");
    let mut row = |flag: &str, help: &str, default: &str| {
        text += &format!("| `{}` | {help} | {default} |\n", flag.replace('|', "\\|"));
    };
    row("-fsanitize=gpurace", "Check CUDA device code for data races", "off");
    for def in FLAGS {
        let default = def.choices.first().map_or(String::new(), |choice| format!("`{choice}`"));
        row(&format!("{}{}", def.spelling, def.value), def.help, &default);
    }
    text
}

/// Returns the text that `gclang --help` adds to clang's help.
pub fn help() -> String {
    let mut text = String::from("\nGPURACE OPTIONS:\n");
    let mut line = |spelling: &str, help: &str| {
        if spelling.len() <= 21 {
            text += &format!("  {spelling:<22}  {help}\n");
        } else {
            text += &format!("  {spelling}\n{:26}{help}\n", "");
        }
    };
    line("-fsanitize=gpurace", "Check CUDA device code for data races");
    for def in FLAGS {
        line(&format!("{}{}", def.spelling, def.value), def.help);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_parses_and_the_default_comes_first() {
        for def in FLAGS {
            for choice in def.choices {
                assert!(parse(&format!("{}{choice}", def.spelling)).unwrap().is_some());
            }
        }
        assert_eq!(parse("-fgpurace-exec=auto").unwrap(), Some(Flag::Exec(Exec::Auto)));
        assert_eq!(parse("-fgpurace-prune=launch").unwrap(), Some(Flag::Prune(Prune::default())));
    }

    #[test]
    fn others_are_left_to_clang() {
        for arg in ["-fgpu-rdc", "-Wall", "-fsanitize=gpurace", "--cuda-path=x", "-Wgpurace-x"] {
            assert_eq!(parse(arg).unwrap(), None, "{arg}");
        }
    }

    #[test]
    fn mistakes_are_explained() {
        let text = |arg: &str| parse(arg).unwrap_err().to_string();
        insta::assert_snapshot!(text("-fgpurace-exce=cpu"), @r"
        error: unknown argument `-fgpurace-exce=cpu`
        hint: did you mean `-fgpurace-exec=`?
        ");
        let misspelt = crate::args::Args::parse(vec!["-fsanitize=address,gpurce".into()]).unwrap_err();
        insta::assert_snapshot!(misspelt.to_string(), @r"
        error: invalid value `gpurce` in `-fsanitize=gpurce`
        hint: did you mean `-fsanitize=gpurace`?
        ");
        insta::assert_snapshot!(text("-fgpurace-exec=gpu"), @r"
        error: invalid value `gpu` in `-fgpurace-exec=gpu`
        hint: the values are `auto`, `cpu` or `cuda`
        ");
        insta::assert_snapshot!(text("-fgpurace-facts="), @r"
        error: no value in `-fgpurace-facts=`
        hint: write `-fgpurace-facts=FILE`
        ");
        insta::assert_snapshot!(text("-fgpurace"), @r"
        error: unknown argument `-fgpurace`
        hint: did you mean `-fgpurace-exec=`?
        ");
    }

    #[test]
    fn help_names_every_flag() {
        let help = help();
        for def in FLAGS {
            assert!(help.contains(def.spelling));
        }
    }
}
