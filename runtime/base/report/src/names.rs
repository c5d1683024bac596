//! Names of kernels.

/// Returns a kernel's name without its parameters, template arguments and return type.
pub fn kernel_name(name: &str) -> &str {
    // `(anonymous namespace)::` is no list of parameters.
    const ANONYMOUS: &str = "(anonymous namespace)::";
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, character) in name.char_indices() {
        match character {
            _ if at < start => {}
            // The arguments of the name itself: what comes before is no return type.
            '<' if depth == 0 && !name[start..at].is_empty() && is_last_component(&name[at..]) => {
                return &name[start..at];
            }
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && name[at..].starts_with(ANONYMOUS) => start = at + ANONYMOUS.len(),
            '(' if depth == 0 => return &name[start..at],
            ' ' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    &name[start..]
}

/// True if a text that begins with template arguments has nothing but parameters after them.
fn is_last_component(text: &str) -> bool {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '<' => depth += 1,
            '>' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    let rest = &text[at + 1..];
                    return rest.is_empty() || rest.starts_with('(');
                }
            }
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::kernel_name;

    #[test]
    fn a_kernel_has_one_name_for_all_its_instances() {
        for (demangled, name) in [
            ("reduce(float const*, float*)", "reduce"),
            ("void scale<float>(float*, int)", "scale"),
            ("void ns::scale<4, std::pair<int, float> >(float*)", "ns::scale"),
            ("scale<float>", "scale"),
            ("void (anonymous namespace)::scale<float>(float*)", "scale"),
            ("scale((anonymous namespace)::Vector*, int)", "scale"),
            ("void ns::scale<(anonymous namespace)::Vector>(int*)", "ns::scale"),
            ("void ns::(anonymous namespace)::scale<(anonymous namespace)::Vector>(int*)", "scale"),
            ("A<int>::run(int*)", "A<int>::run"),
            ("void A<int>::run<float>(int*)", "A<int>::run"),
            ("k", "k"),
            ("", ""),
        ] {
            assert_eq!(kernel_name(demangled), name, "{demangled}");
        }
    }
}
