//! Name expressions, such as `scale<float>` or `&shape::factor`, and the names that the compiler gives what they name.
//!
//! The compiler itself answers. Behind the source stands one kernel for each expression, whose template arguments are
//! the expression's number and what it names:
//!
//! ```text
//! template <int, auto> __global__ void __gpurace_lowered() {}
//! template __global__ void __gpurace_lowered<0, &scale<float>>();
//! ```
//!
//! So templates are instantiated, as NVRTC does, and the mangled name of this kernel contains the wanted one, between
//! `L` and `E`:
//!
//! ```text
//! _Z17__gpurace_loweredILi0ETnDaXadL_Z5scaleIfEvPT_iEEEvv
//! ```

use std::fmt::Write as _;

/// The kernel that asks.
const ASKS: &str = "__gpurace_lowered";

/// The text that stands behind a program's source.
pub fn questions(expressions: &[String]) -> String {
    let mut text = String::new();
    if !expressions.is_empty() {
        text += &format!("\ntemplate <int, auto> __global__ void {ASKS}() {{}}\n");
    }
    for (number, expression) in expressions.iter().enumerate() {
        let plain = expression.trim().trim_start_matches('&');
        // An error in it is told as one of this expression.
        let line = format!(
            "\n#line 1 \"name expression {number}\"\ntemplate __global__ void {ASKS}<{number}, &{plain}>();\n"
        );
        let _ = text.write_str(&line);
    }
    text
}

/// The name that the expression with this number got, from the names of all kernels.
pub fn answer<'a>(number: usize, mut kernels: impl Iterator<Item = &'a str>) -> Option<String> {
    let start = format!("_Z{}{ASKS}ILi{number}E", ASKS.len());
    let asked = kernels.find_map(|kernel| kernel.strip_prefix(&start))?;
    let (_, name) = asked.split_once("XadL")?;
    let name = name.strip_suffix("EEEvv")?;
    Some(plain_name(name).unwrap_or(name).to_owned())
}

/// The name of what is not mangled, which a template argument has as `_Z`, its length and the name.
fn plain_name(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("_Z")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (length, plain) = rest.split_at(digits);
    (length.parse::<usize>().ok()? == plain.len()).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_the_names_of_the_kernels_that_ask() {
        let kernels = [
            "plain",
            "_Z17__gpurace_loweredILi0ETnDaXadL_Z5scaleIfEvPT_iEEEvv",
            "_Z17__gpurace_loweredILi1ETnDaXadL_ZN1N6factorEEEEvv",
            "_Z17__gpurace_loweredILi2ETnDaXadL_Z5plainEEEvv",
            "_Z17__gpurace_loweredILi10ETnDaXadL_ZN1N3varILi3EEEEEEvv",
            "_Z17__gpurace_loweredILi4ETnDaXadL_ZL6hiddenPfEEEvv",
        ];
        let of = |number| answer(number, kernels.into_iter());
        assert_eq!(of(0).as_deref(), Some("_Z5scaleIfEvPT_i"));
        assert_eq!(of(1).as_deref(), Some("_ZN1N6factorE"));
        assert_eq!(of(2).as_deref(), Some("plain"));
        assert_eq!(of(10).as_deref(), Some("_ZN1N3varILi3EEE"));
        assert_eq!(of(4).as_deref(), Some("_ZL6hiddenPf"));
        assert_eq!(of(3), None);
    }

    #[test]
    fn a_program_without_name_expressions_stays_as_it_is() {
        assert_eq!(questions(&[]), "");
        let asked = questions(&[" &N::factor".to_owned(), "scale<float>".to_owned()]);
        assert!(asked.contains("__gpurace_lowered<0, &N::factor>();"), "{asked}");
        assert!(asked.contains("__gpurace_lowered<1, &scale<float>>();"), "{asked}");
    }
}
