//! The C++ definitions of entry points have the names and types of the list in `gpurace_abi::entry`.

use gpurace_abi::entry::{Entry, Ty};

const SOURCE: &str = include_str!("../cpp/device.cpp");

/// A C++ type as the list has it.
fn ty(text: &str) -> Ty {
    match text {
        _ if text.contains('*') => Ty::Ptr,
        "u32" => Ty::I32,
        "u64" => Ty::I64,
        "void" => Ty::Void,
        _ => panic!("the list has no type for `{text}`"),
    }
}

/// The symbol, parameters and result of each definition.
fn definitions() -> Vec<(String, Vec<Ty>, Ty)> {
    let definition = |text: &str| {
        let (head, rest) = text.trim().split_once('(').unwrap();
        let (result, symbol) = head.split_once(' ').unwrap();
        let (list, _) = rest.split_once(')').unwrap();
        let parameters = list.split(',').map(str::trim).filter(|p| !p.is_empty());
        let parameters =
            parameters.map(|p| ty(if p.contains('*') { "*" } else { p.split(' ').next().unwrap() }));
        (symbol.to_owned(), parameters.collect(), ty(result))
    };
    let hot = SOURCE.replace("\nGPURACE_HOT ", "\nGPURACE_ENTRY ");
    hot.split("\nGPURACE_ENTRY ").skip(1).map(definition).collect()
}

#[test]
fn definitions_have_the_listed_types() {
    for (symbol, parameters, result) in definitions() {
        let entry = Entry::of_symbol(&symbol).unwrap_or_else(|| panic!("the list lacks `{symbol}`"));
        let listed: Vec<_> = entry.point().parameters.iter().map(|&(_, ty)| ty).collect();
        assert_eq!((parameters, result), (listed, entry.point().result), "{symbol}");
    }
}

#[test]
fn whatever_only_a_gpu_calls_is_defined() {
    let defined: Vec<_> = definitions().into_iter().map(|(symbol, ..)| symbol).collect();
    for entry in Entry::OF_GPU {
        assert!(defined.iter().any(|symbol| symbol == entry.symbol()), "{entry:?}");
    }
}
