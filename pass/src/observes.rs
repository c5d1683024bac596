//! Which kernels may order accesses by what atomics observe.
//!
//! By PTX's causality order, an atomic write is before what follows an atomic read that observes
//! it. The checker keeps a log of each atomic location for that, which costs time, so
//! it is told which kernels need one: those that write to something by atomics, read it by
//! atomics whose result they use (a `red` reads nothing), and access it plainly.
//! Most kernels with atomics, a histogram say, do not.
//!
//! What is compared are the objects that addresses start from. Two pointers that a kernel is given
//! count as different objects.

use std::collections::HashSet;

use gpurace_abi::scope::AtomicKind;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::address;
use crate::ir::{self, address_space};

/// Values that an address is followed through.
const MOST_STEPS: usize = 32;

/// Where an address starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Root {
    /// A variable.
    Variable(LLVMValueRef),
    /// A parameter of this function.
    Parameter(LLVMValueRef),
    /// Something in shared memory.
    Shared,
    /// Anything.
    Unknown,
}

/// What a function, or a kernel with all that it reaches, accesses, and how.
#[derive(Clone, Debug, Default)]
pub struct Accessed {
    /// Written by atomics.
    changed: HashSet<Root>,
    /// Read by atomics.
    observed: HashSet<Root>,
    /// Accessed otherwise.
    plainly: HashSet<Root>,
}

impl Accessed {
    /// Adds what a call of an entry point says of an access.
    ///
    /// # Safety
    /// `call` is a live call.
    pub unsafe fn add(&mut self, call: LLVMValueRef) {
        // SAFETY: by contract; the entry points have these operands.
        unsafe {
            let Some(callee) = ir::callee(call) else { return };
            match ir::name(callee).as_str() {
                "__gpurace_read"
                | "__gpurace_write"
                | "__gpurace_read_range"
                | "__gpurace_write_range"
                | "__gpurace_async_read"
                | "__gpurace_async_write" => {
                    self.plainly.extend(roots(LLVMGetOperand(call, 0)));
                }
                "__gpurace_atomic" => {
                    let roots = roots(LLVMGetOperand(call, 0));
                    let kind = LLVMGetOperand(call, 3);
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
                _ => {}
            }
        }
    }

    /// Adds what a function accesses. `called`: it is not the kernel, and its parameters are anything.
    pub fn join(&mut self, other: &Accessed, called: bool) {
        let seen = |root: &Root| match root {
            Root::Parameter(_) if called => Root::Unknown,
            root => *root,
        };
        self.changed.extend(other.changed.iter().map(seen));
        self.observed.extend(other.observed.iter().map(seen));
        self.plainly.extend(other.plainly.iter().map(seen));
    }

    /// Adds the end of a block, which for the other blocks of its cluster is a plain write to its
    /// shared memory.
    pub fn add_end_of_shared_memory(&mut self) {
        self.plainly.insert(Root::Shared);
    }

    /// Whether one location may be accessed in all these ways.
    pub fn meet(&self) -> bool {
        self.changed.iter().any(|&a| {
            let may_be = |others: &HashSet<Root>| others.iter().any(|&b| may_be_one(a, b));
            may_be(&self.observed) && may_be(&self.plainly)
        })
    }
}

fn may_be_one(a: Root, b: Root) -> bool {
    let shared = |root: Root| match root {
        // SAFETY: roots are of a live module.
        Root::Variable(v) => {
            Some(unsafe { LLVMGetPointerAddressSpace(LLVMTypeOf(v)) } == address_space::SHARED)
        }
        Root::Shared => Some(true),
        Root::Parameter(_) => Some(false),
        Root::Unknown => None,
    };
    match (a, b) {
        (Root::Unknown, _) | (_, Root::Unknown) => true,
        (Root::Shared, other) | (other, Root::Shared) => shared(other) == Some(true),
        _ => a == b,
    }
}

/// Whether somebody uses what the read-modify-write behind its check has read.
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

/// Whether an integer may have this value; one may be chosen from two.
unsafe fn may_be(value: LLVMValueRef, number: u64) -> bool {
    // SAFETY: by contract a live integer.
    unsafe {
        if !LLVMIsAConstantInt(value).is_null() {
            LLVMConstIntGetZExtValue(value) == number
        } else if ir::value_opcode(value) == Some(LLVMOpcode::LLVMSelect) {
            (1..3).any(|i| may_be(LLVMGetOperand(value, i), number))
        } else {
            true
        }
    }
}

/// Where an address starts.
unsafe fn roots(pointer: LLVMValueRef) -> HashSet<Root> {
    // SAFETY: by contract.
    unsafe {
        let root = |value: LLVMValueRef| match value {
            _ if !LLVMIsAGlobalVariable(value).is_null() => Root::Variable(value),
            _ if !LLVMIsAArgument(value).is_null() => Root::Parameter(value),
            _ if ir::space_of(value) == Some(address_space::SHARED) => Root::Shared,
            _ => Root::Unknown,
        };
        let starts = address::starts(pointer, MOST_STEPS, |_| false);
        starts.map_or_else(|| HashSet::from([Root::Unknown]), |starts| starts.into_iter().map(root).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a kernel with this body needs logs: `%p` and `%q` are what it is given, `@v` a
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
            accessed.meet()
        })
    }

    #[test]
    fn what_is_observed_and_accessed_plainly_is_logged() {
        assert!(needs_logs("ADD\n READ %p SITE"));
        assert!(needs_logs("ADD\n %e = getelementptr i32, ptr %p, i32 %n\n READ %e SITE"));
        // An address from memory may be any.
        assert!(needs_logs("ADD\n %a = load ptr, ptr %q\n READ %a SITE"));
        let chosen = "%c = icmp eq i32 %n, 0\n %a = select i1 %c, ptr %p, ptr %q\n READ %a SITE";
        assert!(needs_logs(&format!("ADD\n {chosen}")));
    }

    #[test]
    fn what_lacks_one_of_the_three_is_not() {
        assert!(!needs_logs("READ %p SITE"));
        assert!(!needs_logs("ADD"));
        // Nobody uses what was read.
        assert!(!needs_logs("RED\n READ %p SITE"));
        // Of another object.
        assert!(!needs_logs("ADD\n READ %q SITE"));
        assert!(!needs_logs("ADD\n READ @v SITE"));
    }
}
