//! Modules before and after, as text.

use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::checks::sites::{self, ConstantMemory};
use crate::gpu::{builtins, hooks};
use crate::ir;
use crate::ir::position::Positions;
use crate::ir::testing::with_module;

pub fn printed(module: LLVMModuleRef) -> String {
    // SAFETY: live; the text is copied before it is given back.
    unsafe {
        let text = LLVMPrintModuleToString(module);
        let printed = ir::text(text);
        LLVMDisposeMessage(text);
        printed
    }
}

/// The module with its checks.
pub fn checked(text: &str) -> String {
    with_module(text, |module| {
        // SAFETY: live.
        unsafe {
            builtins::define(module);
            let mut positions = Positions::new(&[]);
            let found = sites::collect(module, &mut positions, ConstantMemory::IsSkipped);
            hooks::insert(module, &found.accesses, &mut positions);
        }
        printed(module)
    })
}

pub fn line<'a>(text: &'a str, of: &str) -> &'a str {
    text.lines().find(|line| line.contains(of)).unwrap_or_else(|| panic!("no `{of}` in\n{text}")).trim()
}

/// Where these stand in a text, one behind the other.
#[track_caller]
pub fn stand_in_turn(text: &str, all: &[&str]) {
    let mut from = 0;
    for what in all {
        from += text[from..]
            .find(what)
            .unwrap_or_else(|| panic!("no `{what}` behind what comes before it in\n{text}"))
            + what.len();
    }
}

/// A checked function whose body is one asm with these arguments: `%a`, `%b` of 32 bits, `%p` of
/// 64.
pub fn checked_asm(result: &str, asm: &str, constraints: &str, arguments: &str) -> String {
    let call = if result == "void" { String::new() } else { "%x = ".to_owned() };
    checked(&format!(
        "target triple = \"nvptx64-nvidia-cuda\"
         define void @f(i32 %a, i32 %b, i64 %p) {{
           {call}call {result} asm sideeffect \"{asm}\", \"{constraints}\"({arguments})
           ret void
         }}"
    ))
}
