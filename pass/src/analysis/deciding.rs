//! What decides which accesses the threads of a kernel make, and in which order: [`gpurace_abi::deciding`].
//!
//! The roots are all addresses, all conditions of branches, and what says who waits where. The walk goes from them
//! back through the values that they are computed from. It ends at arguments and at loads, whose memory is noted.
//! Flows of values through memory are noted too: which memory a kernel stores to, and which memory the stored values
//! come from.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use gpurace_abi::context::offset;
use gpurace_abi::deciding::{Memory, Place};
use gpurace_abi::entry::{Effect, Entry};
use gpurace_abi::meta::PointerPlace;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::analysis::address::{self, Start};
use crate::ir::entry_calls::{CONTEXT_FUNCTION, EntryCall};
use crate::ir::{self, address_space, debug_info};

/// Most steps of all walks for a kernel.
const MOST_STEPS: usize = 1 << 18;
/// Most values that an address is followed through.
const MOST_STARTS: usize = 64;
/// Parameters of entry points that decide what others compute, but not who waits where.
const VALUES: [&str; 2] = ["value", "pred"];

/// The memory that a kernel accesses, and what its contents decide. `None` if something else decides too: what atomics
/// have read, the time, a call through a pointer.
///
/// # Safety
/// `module` is live, normalised and without checks; `kernel` is its.
pub unsafe fn of_kernel(module: LLVMModuleRef, kernel: LLVMValueRef) -> Option<Vec<Memory>> {
    let mut found = Deciding {
        module,
        kernel,
        calls: HashMap::new(),
        all: Vec::new(),
        stored_locally: Vec::new(),
        steps: 0,
    };
    // SAFETY: by contract.
    unsafe {
        let functions = found.functions()?;
        let mut roots = Vec::new();
        let mut stores = Vec::new();
        for instruction in functions.iter().flat_map(|&function| ir::instructions(function)) {
            found.note(instruction, &mut roots, &mut stores)?;
        }
        // Local variables are one memory, all of whose values a load may give.
        let mut stored: BTreeMap<u32, Vec<Origin>> = BTreeMap::new();
        for (pointer, values) in stores {
            for place in found.places(pointer)? {
                if place.is_none_or(|at| found.all[at as usize].place == Place::Anywhere) {
                    found.stored_locally.extend(&values);
                }
                if let Some(at) = place {
                    stored.entry(at).or_default().extend(&values);
                }
            }
        }
        for (at, values) in stored {
            let from = found.sources(values);
            let memory = &mut found.all[at as usize];
            memory.is_stored = true;
            memory.by_schedule |= from.is_none();
            memory.stored_from = from.unwrap_or_default();
        }
        for at in found.sources(roots)? {
            found.all[at as usize].decides = true;
        }
    }
    Some(found.all)
}

/// What a value comes from.
#[derive(Clone, Copy)]
enum Origin {
    /// It is this value.
    Value(LLVMValueRef),
    /// It is copied from where this pointer leads.
    Memory(LLVMValueRef),
}

/// A pointer, and what is stored where it leads.
type Store = (LLVMValueRef, Vec<Origin>);

struct Deciding {
    module: LLVMModuleRef,
    kernel: LLVMValueRef,
    /// The calls of each function that the kernel reaches.
    calls: HashMap<LLVMValueRef, Vec<LLVMValueRef>>,
    all: Vec<Memory>,
    stored_locally: Vec<Origin>,
    steps: usize,
}

impl Deciding {
    /// The kernel and the functions that it reaches. `None` if it calls others than those of the module.
    unsafe fn functions(&mut self) -> Option<Vec<LLVMValueRef>> {
        let mut functions = vec![self.kernel];
        let mut at = 0;
        // SAFETY: by `of_kernel`'s contract.
        unsafe {
            while let Some(&function) = functions.get(at) {
                at += 1;
                for call in ir::instructions(function) {
                    match ir::opcode(call) {
                        LLVMOpcode::LLVMCall => {}
                        LLVMOpcode::LLVMInvoke | LLVMOpcode::LLVMCallBr => return None,
                        _ => continue,
                    }
                    let callee = ir::callee(call)?;
                    if LLVMIsDeclaration(callee) == 0 {
                        self.calls.entry(callee).or_default().push(call);
                        if !functions.contains(&callee) {
                            functions.push(callee);
                        }
                    }
                }
            }
        }
        Some(functions)
    }

    /// Notes what an instruction makes a root, and what it stores.
    unsafe fn note(
        &mut self,
        instruction: LLVMValueRef,
        roots: &mut Vec<Origin>,
        stores: &mut Vec<Store>,
    ) -> Option<()> {
        // SAFETY: by `of_kernel`'s contract.
        unsafe {
            let operand = |at: u32| LLVMGetOperand(instruction, at);
            match ir::opcode(instruction) {
                LLVMOpcode::LLVMLoad => {
                    // What an atomic or volatile load reads may order threads.
                    ir::is_plain(instruction).then_some(())?;
                    roots.push(Origin::Value(operand(0)));
                }
                LLVMOpcode::LLVMStore => {
                    roots.push(Origin::Value(operand(1)));
                    stores.push((operand(1), vec![Origin::Value(operand(0))]));
                    if !ir::is_plain(instruction) {
                        self.note_atomic(operand(1))?;
                    }
                }
                LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => {
                    LLVMGetFirstUse(instruction).is_null().then_some(())?;
                    roots.push(Origin::Value(operand(0)));
                    let values = ir::operands(instruction).into_iter().skip(1).map(Origin::Value);
                    stores.push((operand(0), values.chain([Origin::Memory(operand(0))]).collect()));
                    self.note_atomic(operand(0))?;
                }
                LLVMOpcode::LLVMBr if LLVMIsConditional(instruction) != 0 => {
                    roots.push(Origin::Value(LLVMGetCondition(instruction)));
                }
                LLVMOpcode::LLVMSwitch => roots.push(Origin::Value(operand(0))),
                LLVMOpcode::LLVMIndirectBr | LLVMOpcode::LLVMVAArg => return None,
                LLVMOpcode::LLVMCall if !debug_info::is_debug_call(instruction) => {
                    self.note_call(instruction, roots, stores)?;
                }
                _ => {}
            }
        }
        Some(())
    }

    unsafe fn note_call(
        &mut self,
        call: LLVMValueRef,
        roots: &mut Vec<Origin>,
        stores: &mut Vec<Store>,
    ) -> Option<()> {
        // SAFETY: by `of_kernel`'s contract; a memory intrinsic has its three first operands.
        unsafe {
            if let Some(entry) = EntryCall::of(call) {
                match entry.entry.effect() {
                    Effect::Heap | Effect::Annotation => return None,
                    Effect::Service if entry.entry == Entry::Vprintf => {}
                    _ => {
                        let parameters = entry.entry.point().parameters.iter().enumerate();
                        let decide = parameters.filter(|(_, (name, _))| !VALUES.contains(name));
                        roots.extend(decide.map(|(at, _)| Origin::Value(entry.operand(at))));
                    }
                }
                if entry.entry == Entry::Matrix {
                    let buffer = entry.operand(2);
                    stores.push((buffer, vec![Origin::Memory(buffer)]));
                }
                return Some(());
            }
            let callee = ir::callee(call)?;
            let name = ir::name(callee);
            if LLVMIsDeclaration(callee) == 0 || name == CONTEXT_FUNCTION {
                return Some(());
            }
            let is = |prefix: &str| name.starts_with(prefix);
            let copies = is("llvm.memcpy.") || is("llvm.memmove.");
            if copies || is("llvm.memset.") {
                let operand = |at: u32| LLVMGetOperand(call, at);
                roots.extend([Origin::Value(operand(0)), Origin::Value(operand(2))]);
                let value = match copies {
                    true => {
                        roots.push(Origin::Value(operand(1)));
                        Origin::Memory(operand(1))
                    }
                    false => Origin::Value(operand(1)),
                };
                stores.push((operand(0), vec![value]));
                return Some(());
            }
            // What is left of LLVM's intrinsics touches no memory that threads share.
            is("llvm.").then_some(())
        }
    }

    unsafe fn note_atomic(&mut self, pointer: LLVMValueRef) -> Option<()> {
        // SAFETY: by `of_kernel`'s contract.
        for at in unsafe { self.places(pointer) }?.into_iter().flatten() {
            self.all[at as usize].by_schedule = true;
        }
        Some(())
    }

    /// The memory that stored values may come from, all walks together.
    unsafe fn sources(&mut self, stored: Vec<Origin>) -> Option<BTreeSet<u32>> {
        let mut found = BTreeSet::new();
        let mut seen = HashSet::new();
        let mut has_local = false;
        let mut pending = stored;
        // SAFETY: by `of_kernel`'s contract; operands of live values are live.
        unsafe {
            while let Some(next) = pending.pop() {
                self.steps += 1;
                if self.steps > MOST_STEPS {
                    return None;
                }
                let pointer = match next {
                    Origin::Memory(pointer) => pointer,
                    Origin::Value(value) => {
                        if !seen.insert(value) {
                            continue;
                        }
                        if ir::value_opcode(value) != Some(LLVMOpcode::LLVMLoad) {
                            self.push_operands(value, &mut pending)?;
                            continue;
                        }
                        LLVMGetOperand(value, 0)
                    }
                };
                for place in self.places(pointer)? {
                    match place {
                        Some(at) => {
                            found.insert(at);
                        }
                        None if !has_local => {
                            has_local = true;
                            pending.extend(&self.stored_locally);
                        }
                        None => {}
                    }
                }
            }
        }
        Some(found)
    }

    /// Adds the values that a value is computed from; it is no load.
    unsafe fn push_operands(&self, value: LLVMValueRef, pending: &mut Vec<Origin>) -> Option<()> {
        // SAFETY: by `of_kernel`'s contract.
        unsafe {
            if !LLVMIsAArgument(value).is_null() {
                let function = LLVMGetParamParent(value);
                let at = ir::params(function).iter().position(|&param| param == value)?;
                // The arguments of the kernel itself are those of the launch.
                let calls = self.calls.get(&function).into_iter().flatten();
                pending.extend(calls.map(|&call| Origin::Value(LLVMGetOperand(call, at as u32))));
                return Some(());
            }
            if LLVMIsAInstruction(value).is_null() {
                // Threads may have different values for an undefined one.
                return (LLVMIsUndef(value) == 0).then_some(());
            }
            match ir::opcode(value) {
                LLVMOpcode::LLVMAlloca => {}
                LLVMOpcode::LLVMAtomicRMW
                | LLVMOpcode::LLVMAtomicCmpXchg
                | LLVMOpcode::LLVMVAArg
                | LLVMOpcode::LLVMInvoke
                | LLVMOpcode::LLVMCallBr
                | LLVMOpcode::LLVMLandingPad => return None,
                LLVMOpcode::LLVMCall => {
                    let callee = ir::callee(value)?;
                    let name = ir::name(callee);
                    if name == CONTEXT_FUNCTION {
                        return Some(());
                    }
                    if LLVMIsDeclaration(callee) == 0 {
                        let results = ir::instructions(callee).into_iter();
                        let results = results.filter(|&i| ir::opcode(i) == LLVMOpcode::LLVMRet);
                        pending.extend(
                            results
                                .filter(|&result| LLVMGetNumOperands(result) > 0)
                                .map(|result| Origin::Value(LLVMGetOperand(result, 0))),
                        );
                        return Some(());
                    }
                    let is_same = match EntryCall::of(value).map(|entry| (entry.entry, entry.entry.effect()))
                    {
                        Some((Entry::Activemask | Entry::Clock | Entry::Globaltimer, _)) => false,
                        Some((_, effect)) => matches!(
                            effect,
                            Effect::Exchange | Effect::Barrier | Effect::Service | Effect::Cluster
                        ),
                        None => ir::is_pure_intrinsic(&name),
                    };
                    is_same.then_some(())?;
                    let operands = (0..LLVMGetNumArgOperands(value)).map(|at| LLVMGetOperand(value, at));
                    pending.extend(operands.map(Origin::Value));
                }
                LLVMOpcode::LLVMPHI => {
                    let incoming = (0..LLVMCountIncoming(value)).map(|at| LLVMGetIncomingValue(value, at));
                    pending.extend(incoming.map(Origin::Value));
                }
                _ => pending.extend(ir::operands(value).into_iter().map(Origin::Value)),
            }
        }
        Some(())
    }

    /// The memory that a pointer may lead to, `None` for a local variable. Memory that stays the same is left out:
    /// arguments, constants, the thread's special registers. Gives `None` as a whole if the launch's number decides.
    unsafe fn places(&mut self, pointer: LLVMValueRef) -> Option<Vec<Option<u32>>> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut pending = vec![pointer];
        // SAFETY: by `of_kernel`'s contract.
        unsafe {
            while let Some(pointer) = pending.pop() {
                if !seen.insert(pointer) {
                    continue;
                }
                let Some(starts) = address::starts(pointer, MOST_STARTS, |_| false) else {
                    found.push(Some(self.memory(Place::Anywhere)));
                    continue;
                };
                for start in starts {
                    let place = match address::start_of(self.module, start).0 {
                        Start::Context => match address::start_of(self.module, pointer) {
                            (Start::Context, _, Some(at)) if at < offset::LAUNCH_ID as i64 => continue,
                            _ => return None,
                        },
                        Start::Constant if LLVMIsGlobalConstant(start) != 0 => continue,
                        Start::Constant => Some(Place::Variable(ir::name(start))),
                        Start::Private => None,
                        Start::Variable if ir::space_of(start) == Some(address_space::SHARED) => {
                            Some(Place::Shared)
                        }
                        Start::Variable => Some(Place::Variable(ir::name(start))),
                        Start::Argument(index) => {
                            let function = LLVMGetParamParent(start);
                            if function != self.kernel {
                                let calls = self.calls.get(&function).into_iter().flatten();
                                pending.extend(calls.map(|&call| LLVMGetOperand(call, index as u32)));
                                continue;
                            }
                            if ir::byval_type(self.kernel, index).is_some() {
                                // A kernel may change its own copy.
                                match address::only_loaded(start) {
                                    true => continue,
                                    false => Some(Place::Anywhere),
                                }
                            } else {
                                let index = u32::try_from(index).ok()?;
                                Some(Place::Pointer(PointerPlace { index, offset: 0 }))
                            }
                        }
                        Start::Other => {
                            let field = address::field_of_argument(self.module, self.kernel, start);
                            Some(field.map_or(Place::Anywhere, Place::Pointer))
                        }
                    };
                    found.push(place.map(|place| self.memory(place)));
                }
            }
        }
        Some(found)
    }

    fn memory(&mut self, place: Place) -> u32 {
        let at = self.all.iter().position(|memory| memory.place == place).unwrap_or_else(|| {
            let (decides, is_stored, by_schedule, stored_from) = Default::default();
            self.all.push(Memory { place, decides, is_stored, by_schedule, stored_from });
            self.all.len() - 1
        });
        at as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found of a kernel with this body, a memory to a word: its place, then `d` if it decides, `s` if it is stored
    /// to, `a` if the schedule decides what it holds, and the memory that its values come from. The parameters are the pointers `%p` and
    /// `%q`, the number `%n`, and `%s`, a struct of two pointers; `%t` is the thread's index.
    fn found(body: &str) -> Option<String> {
        let text = format!(
            "%two = type {{ ptr, ptr }}
             @v = addrspace(1) global [64 x i32] zeroinitializer
             @c = addrspace(4) externally_initialized global [64 x i32] zeroinitializer
             @fixed = addrspace(4) constant [64 x i32] zeroinitializer
             @tile = addrspace(3) global [64 x i32] undef
             declare ptr @gpurace.context()
             declare void @__gpurace_barrier(i32, i32, i32)
             declare i64 @__gpurace_shfl(i32, i32, i32, i32, i32, i32)
             declare i32 @__gpurace_activemask()
             declare i64 @__gpurace_clock()
             declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
             define i32 @twice(i32 %x) {{
               %y = add i32 %x, %x
               ret i32 %y
             }}
             define void @k(ptr %p, ptr %q, i32 %n, ptr byval(%two) %s) {{
               %context = call ptr @gpurace.context()
               %t = load i32, ptr %context
               {body}
               ret void
             }}"
        );
        // SAFETY: the module is live.
        let all = ir::testing::with_module(&text, |module| unsafe {
            of_kernel(module, LLVMGetNamedFunction(module, c"k".as_ptr()))
        });
        let name = |place: &Place| match place {
            Place::Pointer(PointerPlace { index: 3, offset }) => format!("s{offset}"),
            Place::Pointer(PointerPlace { index, .. }) => ["p", "q"][*index as usize].to_owned(),
            Place::Variable(name) => name.clone(),
            Place::Shared => "shared".to_owned(),
            Place::Anywhere => "anywhere".to_owned(),
        };
        let all = all?;
        let mut words: Vec<String> = all
            .iter()
            .map(|memory| {
                let flag = |is: bool, letter: &'static str| if is { letter } else { "" };
                let flags =
                    [flag(memory.decides, "d"), flag(memory.is_stored, "s"), flag(memory.by_schedule, "a")]
                        .concat();
                let from: Vec<_> =
                    memory.stored_from.iter().map(|&at| name(&all[at as usize].place)).collect();
                let from = if from.is_empty() { String::new() } else { format!("<{}", from.join("<")) };
                format!("{}:{flags}{from}", name(&memory.place))
            })
            .collect();
        words.sort();
        Some(words.join(" "))
    }

    fn is(body: &str, wanted: &str) {
        assert_eq!(found(body).as_deref(), Some(wanted), "{body}");
    }

    /// `at(to, from)`: a pointer to an element.
    fn at(to: &str, base: &str, index: &str) -> String {
        format!("{to} = getelementptr i32, ptr {base}, i32 {index}\n")
    }

    /// `to = base[index]`.
    fn load(to: &str, base: &str, index: &str) -> String {
        at(&format!("{to}.at"), base, index) + &format!("{to} = load i32, ptr {to}.at\n")
    }

    /// `base[index] = value`.
    fn store(name: &str, base: &str, index: &str, value: &str) -> String {
        at(name, base, index) + &format!("store i32 {value}, ptr {name}\n")
    }

    #[test]
    fn addresses_by_threads_and_arguments_need_no_memory() {
        is(&(load("%x", "%p", "%n") + &store("%o", "%q", "%t", "%x")), "p: q:s<p");
    }

    #[test]
    fn loaded_indices_and_conditions_decide() {
        is(&(load("%x", "%p", "%t") + &store("%o", "%q", "%x", "%n")), "p:d q:s");
        let branch = "%c = icmp eq i32 %x, 0\n br i1 %c, label %yes, label %no\nyes:\n store i32 1, ptr %q\n br label %no\nno:\n";
        is(&(load("%x", "%p", "%t") + branch), "p:d q:s");
        // A value that is chosen decides nothing but the value.
        let chosen = "%c = icmp eq i32 %x, 0\n %y = select i1 %c, i32 %n, i32 7\n";
        is(&(load("%x", "%p", "%t") + chosen + &store("%o", "%q", "%t", "%y")), "p: q:s<p");
    }

    #[test]
    fn indices_are_followed_through_calls_and_memory() {
        let called = "%y = call i32 @twice(i32 %x)\n";
        is(&(load("%x", "%p", "%t") + called + &store("%o", "%q", "%y", "%n")), "p:d q:s");
        // Through a local variable, and through shared memory.
        let local = "%l = alloca [4 x i32]\n store i32 %x, ptr %l\n %y = load i32, ptr %l\n";
        is(&(load("%x", "%p", "%t") + local + &store("%o", "%q", "%y", "%n")), "p:d q:s");
        let shared =
            "store i32 %x, ptr addrspace(3) @tile\n call void @__gpurace_barrier(i32 0, i32 0, i32 0)
            %y = load i32, ptr addrspace(3) @tile\n";
        is(&(load("%x", "%p", "%t") + shared + &store("%o", "%q", "%y", "%n")), "p: q:s shared:ds<p");
        let copied = "call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %p, i64 64, i1 false)\n";
        is(&(copied.to_owned() + &load("%x", "%q", "%t") + &store("%o", "%q", "%x", "%n")), "p: q:ds<p");
    }

    #[test]
    fn lanes_hand_on_what_decides() {
        let handed = "%r = call i64 @__gpurace_shfl(i32 0, i32 -1, i32 %x, i32 0, i32 31, i32 0)\n %y = trunc i64 %r to i32\n";
        is(&(load("%x", "%p", "%t") + handed + &store("%o", "%q", "%y", "%n")), "p:d q:s");
        is(&(load("%x", "%p", "%t") + handed + &store("%o", "%q", "%t", "%y")), "p: q:s<p");
        // A mask says who waits.
        let mask = "%r = call i64 @__gpurace_shfl(i32 0, i32 %x, i32 %n, i32 0, i32 31, i32 0)\n";
        is(&(load("%x", "%p", "%t") + mask), "p:d");
    }

    #[test]
    fn memory_is_found_behind_structs_and_variables() {
        let field = "%f = getelementptr i8, ptr %s, i64 8\n %b = load ptr, ptr %f\n";
        is(&(field.to_owned() + &load("%x", "%b", "%t") + &store("%o", "%q", "%x", "%n")), "q:s s8:d");
        let variable = "%a = addrspacecast ptr addrspace(1) @v to ptr\n";
        is(&(variable.to_owned() + &load("%x", "%a", "%t") + &store("%o", "%q", "%x", "%n")), "q:s v:d");
        // The host may write constant memory, but no constant.
        let constant = "%x = load i32, ptr addrspace(4) @c\n";
        is(&(constant.to_owned() + &store("%o", "%q", "%x", "%n")), "c:d q:s");
        is(&(constant.replace("@c", "@fixed") + &store("%o", "%q", "%x", "%n")), "q:s");
        // A pointer from memory leads anywhere.
        let loaded = "%a = load ptr, ptr %p\n";
        is(
            &(loaded.to_owned() + &load("%x", "%a", "%t") + &store("%o", "%q", "%x", "%n")),
            "anywhere:d p:d q:s",
        );
    }

    #[test]
    fn memory_that_atomics_change_is_told() {
        let add = "%u = atomicrmw add ptr %q, i32 %n monotonic\n";
        is(add, "q:sa<q");
        is("store atomic i32 %n, ptr %q monotonic, align 4\n", "q:sa");
    }

    #[test]
    fn no_kernel_whose_order_rests_on_more_is_described() {
        let use_it = |what: &str| what.to_owned() + &store("%o", "%q", "%x", "%n");
        for body in [
            use_it("%x = atomicrmw add ptr %p, i32 1 monotonic\n"),
            // Its result need not decide: whoever reads it is ordered by it.
            "%x = atomicrmw add ptr %p, i32 1 monotonic\n store i32 %x, ptr %q\n".to_owned(),
            "%x = load atomic i32, ptr %p monotonic, align 4\n store i32 %x, ptr %q\n".to_owned(),
            "%x = load volatile i32, ptr %p\n store i32 %x, ptr %q\n".to_owned(),
            use_it("%x = call i32 @__gpurace_activemask()\n"),
            use_it("%l = call i64 @__gpurace_clock()\n %x = trunc i64 %l to i32\n"),
            use_it(&format!(
                "%g = getelementptr i8, ptr %context, i64 {}\n %x = load i32, ptr %g\n",
                offset::LAUNCH_ID
            )),
            use_it("%f = load ptr, ptr %p\n call void %f()\n %x = add i32 %t, 0\n"),
            use_it("%x = add i32 undef, %t\n"),
        ] {
            assert_eq!(found(&body), None, "{body}");
        }
        // It matters only if such values decide.
        is("%l = call i64 @__gpurace_clock()\n store i64 %l, ptr %q\n", "q:sa");
    }

    #[test]
    fn local_memory_that_may_be_changed_by_a_loaded_pointer_may_hold_anything() {
        let body = "%l = alloca i32\n %a = load ptr, ptr %p\n store i32 %n, ptr %a\n %y = load i32, ptr %l\n";
        is(&(body.to_owned() + &store("%o", "%q", "%y", "%n")), "anywhere:s p:d q:s");
        let value = load("%x", "%q", "%t") + &body.replace("i32 %n, ptr %a", "i32 %x, ptr %a");
        is(&(value + &store("%o", "%q", "%y", "%n")), "anywhere:s<q p:d q:ds");
    }
}
