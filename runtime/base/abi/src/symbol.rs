//! Demangling: names of functions and variables as people write them.

/// The symbol without what clang adds to static kernels and variables of
/// separately compiled units, such as `__intern__b04fd23c98500190`.
pub fn without_unit(symbol: &str) -> &str {
    let unit = ["__intern__", "__static__"].iter().find_map(|mark| symbol.rsplit_once(mark));
    match unit {
        Some((name, id)) if !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'_') => name,
        _ => symbol,
    }
}

/// The name in the source, with parameters, if `symbol` is mangled; otherwise `symbol`,
/// [`without_unit`].
pub fn demangle(symbol: &str) -> String {
    let name = without_unit(symbol);
    // A name that is not mangled may look like a mangled type: `d` is not `double`.
    let mangled = name.starts_with("_Z").then(|| cpp_demangle::Symbol::new(name).ok()).flatten();
    mangled.and_then(|parsed| parsed.demangle().ok()).unwrap_or_else(|| name.to_owned())
}

/// The types of a function's parameters, from its demangled name: `float const*` and `int` for
/// `void ns::scan<int>(float const*, int)`. Empty for a name without parameters.
pub fn parameter_types(demangled: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let mut ends = Vec::new();
    // From the end, since names of functions may hold brackets too.
    for (at, byte) in demangled.bytes().enumerate().rev() {
        match byte {
            b')' | b'>' => {
                if depth == 0 {
                    ends.push(at);
                }
                depth += 1;
            }
            b'(' | b'<' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    ends.push(at);
                    break;
                }
            }
            b',' if depth == 1 => ends.push(at),
            _ => {}
        }
    }
    ends.windows(2).map(|pair| demangled[pair[1] + 1..pair[0]].trim()).rev().collect()
}

/// The type that a pointer's type points to, and its size in bytes. `None` for other types, and for those of the
/// program, whose sizes a name does not show.
pub fn pointee(pointer: &str) -> Option<(&str, u64)> {
    let ty = pointer.strip_suffix('*')?;
    let ty = ty.strip_suffix(" const").unwrap_or(ty);
    let size = match ty {
        "bool" | "char" | "signed char" | "unsigned char" => 1,
        "short" | "unsigned short" | "__half" | "__nv_bfloat16" => 2,
        "int" | "unsigned int" | "float" | "__half2" | "__nv_bfloat162" => 4,
        "long" | "unsigned long" | "long long" | "unsigned long long" | "double" => 8,
        "int2" | "uint2" | "float2" => 8,
        "int3" | "uint3" | "float3" => 12,
        "int4" | "uint4" | "float4" | "double2" => 16,
        _ => return None,
    };
    Some((ty, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_split_where_no_bracket_is_open() {
        for (name, wanted) in [
            ("reduce(float const*, float*)", &["float const*", "float*"][..]),
            ("void ns::scan<int, (ns::A)1>(std::pair<int, int>, int*)", &["std::pair<int, int>", "int*"]),
            ("k(void (*)(int, int), int)", &["void (*)(int, int)", "int"]),
            ("k()", &[""]),
            ("kernel_c", &[]),
            ("odd)", &[]),
            ("odd((,", &[]),
        ] {
            assert_eq!(parameter_types(name), wanted, "{name}");
        }
    }

    #[test]
    fn only_types_of_known_size_are_pointees() {
        assert_eq!(pointee("float const*"), Some(("float", 4)));
        assert_eq!(pointee("unsigned long*"), Some(("unsigned long", 8)));
        for other in ["float", "float**", "Particle*", "void*", "float const volatile*", ""] {
            assert_eq!(pointee(other), None, "{other}");
        }
    }

    #[test]
    fn only_what_clang_adds_is_taken_away() {
        assert_eq!(without_unit("_ZL4workv__intern__d32edae706f0f07d"), "_ZL4workv");
        assert_eq!(without_unit("_ZL5table__static__98c3adfe00_059a4aa7"), "_ZL5table");
        for whole in ["_Z4workv", "x__intern__y", "__static__"] {
            assert_eq!(without_unit(whole), whole);
        }
    }

    #[test]
    fn only_mangled_names_are_demangled() {
        for (symbol, name) in [
            ("_Z6reducePKfPf", "reduce(float const*, float*)"),
            ("_ZN2ns4scanIiEEvPT_", "void ns::scan<int>(int*)"),
            ("_ZL5total", "total"),
            ("_ZL4workv__intern__d32edae706f0f07d", "work()"),
            ("work__intern__d32edae706f0f07d", "work"),
            ("_Znonsense", "_Znonsense"),
            ("kernel_c", "kernel_c"),
            ("_total", "_total"),
            // Types, if they were mangled names.
            ("a", "a"),
            ("d", "d"),
            ("Pi", "Pi"),
            ("", ""),
        ] {
            assert_eq!(demangle(symbol), name);
        }
    }
}
