//! Kernels in which the values that atomics observe may order accesses.
//!
//! By PTX's causality order, an atomic write happens before everything that follows an atomic read
//! which observes it. For that the checker keeps a log of each atomic location, which costs time.
//! So the module's description names the kernels that need logs: those that write an object by
//! atomics, read it by atomics whose result they use (a `red` reads nothing), and access it
//! plainly. Most kernels with atomics, such as a histogram, need none.
//!
//! Objects are compared by the values that addresses start from. Two pointer parameters of a kernel
//! count as different objects.

use std::collections::HashSet;

use gpurace_abi::entry::{CheckedAccess, Effect};
use gpurace_abi::scope::AtomicKind;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::address;
use crate::ir::entry_calls::EntryCall;
use crate::ir::{self, address_space};

/// Most values that an address is followed through.
const MOST_STEPS: usize = 32;

/// The start of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum AddressRoot {
    /// A variable.
    Variable(LLVMValueRef),
    /// A parameter of this function.
    Parameter(LLVMValueRef),
    /// An unknown place in shared memory.
    Shared,
    /// An unknown place.
    Unknown,
}

/// The objects that a function accesses, or a kernel with everything that it reaches, and how.
#[derive(Clone, Debug, Default)]
pub struct Accessed {
    /// Written by atomics.
    changed: HashSet<AddressRoot>,
    /// Read by atomics.
    observed: HashSet<AddressRoot>,
    /// Accessed otherwise.
    plainly: HashSet<AddressRoot>,
}

impl Accessed {
    /// Adds the access that a call checks, if it is a check.
    ///
    /// # Safety
    /// `call` is a live call.
    pub unsafe fn add(&mut self, call: LLVMValueRef) {
        // SAFETY: by contract; the entry points have these operands.
        unsafe {
            let Some(check) = EntryCall::of(call) else { return };
            let (Effect::Check(access), Some(address)) = (check.entry.effect(), check.address()) else {
                return;
            };
            match access {
                CheckedAccess::Read
                | CheckedAccess::Write
                | CheckedAccess::AsyncRead
                | CheckedAccess::AsyncWrite => self.plainly.extend(roots(address)),
                CheckedAccess::Atomic => {
                    let roots = roots(address);
                    let kind = check.operand(3);
                    let is = |of: AtomicKind| may_be(kind, of as u64);
                    let (volatile_load, volatile_store) =
                        (is(AtomicKind::VolatileLoad), is(AtomicKind::VolatileStore));
                    if volatile_load || volatile_store {
                        self.plainly.extend(&roots);
                    }
                    if is(AtomicKind::Store)
                        || is(AtomicKind::Rmw)
                        || is(AtomicKind::Reduction)
                        || volatile_store
                    {
                        self.changed.extend(&roots);
                    }
                    if is(AtomicKind::Load) || volatile_load || is(AtomicKind::Rmw) && is_used(call) {
                        self.observed.extend(&roots);
                    }
                }
            }
        }
    }

    /// Adds the accesses of a function. `called`: it is not the kernel, so that its parameters may
    /// point anywhere.
    pub fn join(&mut self, other: &Accessed, called: bool) {
        let seen = |root: &AddressRoot| match root {
            AddressRoot::Parameter(_) if called => AddressRoot::Unknown,
            root => *root,
        };
        self.changed.extend(other.changed.iter().map(seen));
        self.observed.extend(other.observed.iter().map(seen));
        self.plainly.extend(other.plainly.iter().map(seen));
    }

    /// Adds the end of a block. For the other blocks of its cluster it is a plain write to the
    /// shared memory of the block.
    pub fn add_end_of_shared_memory(&mut self) {
        self.plainly.insert(AddressRoot::Shared);
    }

    /// True if an atomic reads a value that is used.
    pub fn reads_by_atomics(&self) -> bool {
        !self.observed.is_empty()
    }

    /// True if one location may be accessed in all three ways.
    pub fn need_logs(&self) -> bool {
        self.changed.iter().any(|&a| {
            let may_be = |others: &HashSet<AddressRoot>| others.iter().any(|&b| may_be_one(a, b));
            may_be(&self.observed) && may_be(&self.plainly)
        })
    }
}

/// True if addresses of two roots may be one.
fn may_be_one(a: AddressRoot, b: AddressRoot) -> bool {
    let shared = |root: AddressRoot| match root {
        AddressRoot::Variable(v) => {
            // SAFETY: roots are of a live module.
            Some(unsafe { LLVMGetPointerAddressSpace(LLVMTypeOf(v)) } == address_space::SHARED)
        }
        AddressRoot::Shared => Some(true),
        AddressRoot::Parameter(_) => Some(false),
        AddressRoot::Unknown => None,
    };
    match (a, b) {
        (AddressRoot::Unknown, _) | (_, AddressRoot::Unknown) => true,
        (AddressRoot::Shared, other) | (other, AddressRoot::Shared) => shared(other) == Some(true),
        _ => a == b,
    }
}

/// True if the result of the read-modify-write behind its check is used.
unsafe fn is_used(check: LLVMValueRef) -> bool {
    // SAFETY: by `Accessed::add`'s contract.
    unsafe {
        let next = LLVMGetNextInstruction(check);
        if next.is_null() {
            return true;
        }
        let atomic = matches!(ir::opcode(next), LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg);
        !atomic || !LLVMGetFirstUse(next).is_null()
    }
}

/// True if an integer, or one of the two that a select chooses from, may have this value.
unsafe fn may_be(value: LLVMValueRef, number: u64) -> bool {
    // SAFETY: by contract a live integer.
    unsafe {
        if let Some(constant) = ir::constant(value) {
            constant == number
        } else if ir::value_opcode(value) == Some(LLVMOpcode::LLVMSelect) {
            (1..3).any(|i| may_be(LLVMGetOperand(value, i), number))
        } else {
            true
        }
    }
}

/// The starts of an address.
unsafe fn roots(pointer: LLVMValueRef) -> HashSet<AddressRoot> {
    // SAFETY: by contract.
    unsafe {
        let root = |value: LLVMValueRef| match value {
            _ if !LLVMIsAGlobalVariable(value).is_null() => AddressRoot::Variable(value),
            _ if !LLVMIsAArgument(value).is_null() => AddressRoot::Parameter(value),
            _ if ir::space_of(value) == Some(address_space::SHARED) => AddressRoot::Shared,
            _ => AddressRoot::Unknown,
        };
        let starts = address::starts(pointer, MOST_STEPS, |_| false);
        starts.map_or_else(
            || HashSet::from([AddressRoot::Unknown]),
            |starts| starts.into_iter().map(root).collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if a kernel with this body needs logs. `%p` and `%q` are its parameters, `@v` is a
    /// variable. `ADD` and `RED` add to `%p` atomically, with and without a use of the result.
    fn needs_logs(body: &str) -> bool {
        let check = format!(
            "call void @__gpurace_atomic(ptr %p, i32 4, i32 0, i32 {}, i32 2, i32 0)",
            AtomicKind::Rmw as u64
        );
        let body = body
            .replace(
                "ADD",
                &format!("{check}\n %old = atomicrmw add ptr %p, i32 1 monotonic\n call void @use(i32 %old)"),
            )
            .replace("RED", &format!("{check}\n %unused = atomicrmw add ptr %p, i32 1 monotonic"))
            .replace("READ", "call void @__gpurace_read(ptr")
            .replace("SITE", ", i32 4, i32 1)");
        let text = format!(
            "declare void @__gpurace_atomic(ptr, i32, i32, i32, i32, i32)
             declare void @__gpurace_read(ptr, i32, i32)
             declare void @use(i32)
             @v = global i32 0
             define void @k(ptr %p, ptr %q, i32 %n) {{ {body}\n ret void }}"
        );
        // SAFETY: the module is live.
        ir::testing::with_module(&text, |module| unsafe {
            let mut accessed = Accessed::default();
            let kernel = LLVMGetNamedFunction(module, c"k".as_ptr());
            for call in
                ir::instructions(kernel).into_iter().filter(|&i| ir::opcode(i) == LLVMOpcode::LLVMCall)
            {
                accessed.add(call);
            }
            accessed.need_logs()
        })
    }

    #[test]
    fn observed_objects_that_are_accessed_plainly_need_logs() {
        assert!(needs_logs("ADD\n READ %p SITE"));
        assert!(needs_logs("ADD\n %e = getelementptr i32, ptr %p, i32 %n\n READ %e SITE"));
        // An address from memory may be any.
        assert!(needs_logs("ADD\n %a = load ptr, ptr %q\n READ %a SITE"));
        let chosen = "%c = icmp eq i32 %n, 0\n %a = select i1 %c, ptr %p, ptr %q\n READ %a SITE";
        assert!(needs_logs(&format!("ADD\n {chosen}")));
    }

    #[test]
    fn without_one_of_the_three_ways_none_is_needed() {
        assert!(!needs_logs("READ %p SITE"));
        assert!(!needs_logs("ADD"));
        // Nobody uses what was read.
        assert!(!needs_logs("RED\n READ %p SITE"));
        // Of another object.
        assert!(!needs_logs("ADD\n READ %q SITE"));
        assert!(!needs_logs("ADD\n READ @v SITE"));
    }
}
