//! Accesses, asynchronous copies and mbarriers.
//!
//! Accesses become loads, stores and atomics of IR, so that the pass finds one form of each. A weak
//! vector is one access, a strong one is as many as it has elements.

use gpurace_abi::entry::Entry;
use gpurace_abi::scope::{AtomicKind, Order, Scope};

use crate::translate::ptx::op::{Address, AtomOp, MbarrierPhase, Op, Operand};
use crate::translate::ptx::types::{Space, Strength, Ty};

use super::address::pointer;
use super::body::{Body, Refused, Translated};

/// An operation on memory.
pub(super) fn operation(body: &mut Body, op: &Op) -> Translated {
    match op {
        Op::Ld { strength, space, ty, d, from, .. } => ld(body, *strength, *space, *ty, d, from),
        Op::St { strength, space, ty, to, a, .. } => st(body, *strength, *space, *ty, to, a),
        Op::Atom { .. } => atom(body, op),
        Op::CpAsync { to, from, size, source_size, ignore } => {
            copy(body, to, from, size, source_size.as_ref(), ignore.as_ref())
        }
        // The groups of bulk copies count with the others. So a wait may learn of more copies than it should, never
        // of fewer.
        Op::CpAsyncCommit | Op::BulkCommit => {
            body.entry(Entry::AsyncCommit, &[]);
            Ok(())
        }
        Op::CpAsyncWait { pending: Some(pending) } | Op::BulkWait { pending } => {
            let pending = body.get(pending, Ty::U(32))?;
            body.entry(Entry::AsyncWait, &[&pending]);
            Ok(())
        }
        Op::CpAsyncWait { pending: None } => {
            body.entry(Entry::AsyncCommit, &[]);
            body.entry(Entry::AsyncWait, &["0"]);
            Ok(())
        }
        // Copies happen at once, so without `.noinc` the pending count does not change: the arrival
        // only publishes.
        Op::CpAsyncArrive { noinc, space, at } => {
            let (pointer, kind) = barrier(body, *space, at)?;
            let generic = body.value(format_args!("call ptr @gr.generic.{kind}({pointer})"));
            body.entry(Entry::AsyncArrive, &[&generic]);
            arrive(body, &pointer, kind, if *noinc { "1" } else { "0" }, "0");
            Ok(())
        }
        Op::MbarrierInit { space, at, count } => {
            let (pointer, kind) = barrier(body, *space, at)?;
            let count = body.get(count, Ty::U(32))?;
            body.line(format_args!("call void @gr.mbarrier.init.{kind}({pointer}, i32 {count})"));
            Ok(())
        }
        Op::MbarrierInval { .. } => Ok(()),
        Op::MbarrierArrive { drop, expect_tx, space, state, at, count, .. } => {
            let (pointer, kind) = barrier(body, *space, at)?;
            if let Some(bytes) = expect_tx {
                let bytes = body.get(bytes, Ty::U(32))?;
                let bytes = body.resize(&bytes, 32, 64, "zext");
                transact(body, &pointer, kind, &bytes, false);
            }
            let count = body.get_or(count.as_ref(), Ty::U(32), "1")?;
            let count = body.resize(&count, 32, 64, "zext");
            let dropped = if *drop { count.as_str() } else { "0" };
            let token = arrive(body, &pointer, kind, &count, dropped);
            body.set(state, Ty::B(64), &token)
        }
        Op::MbarrierTx { complete, space, at, bytes, .. } => {
            let (pointer, kind) = barrier(body, *space, at)?;
            let bytes = body.get(bytes, Ty::U(32))?;
            let bytes = body.resize(&bytes, 32, 64, "zext");
            transact(body, &pointer, kind, &bytes, *complete);
            Ok(())
        }
        Op::MbarrierWait { space, p, at, phase, .. } => {
            let (pointer, kind) = barrier(body, *space, at)?;
            let done = match phase {
                MbarrierPhase::Token(token) => {
                    let token = body.get(token, Ty::B(64))?;
                    body.value(format_args!("call i1 @gr.mbarrier.test.{kind}({pointer}, i64 {token})"))
                }
                MbarrierPhase::Parity(parity) => {
                    let parity = body.get(parity, Ty::U(32))?;
                    let parity = body.resize(&parity, 32, 1, "zext");
                    body.value(format_args!("call i1 @gr.mbarrier.parity.{kind}({pointer}, i1 {parity})"))
                }
            };
            body.set(p, Ty::Pred, &done)
        }
        Op::MbarrierPendingCount { d, state } => {
            let token = body.get(state, Ty::B(64))?;
            let pending = body.value(format_args!("and i64 {token}, 1048575"));
            let pending = body.resize(&pending, 64, 32, "zext");
            body.set(d, Ty::U(32), &pending)
        }
        _ => Err(Refused),
    }
}

/// `syncscope` of a scope, in IR text.
fn syncscope(scope: Scope) -> &'static str {
    match scope {
        Scope::Block => "block",
        Scope::Cluster => "cluster",
        Scope::Device => "device",
        Scope::System => "system",
    }
}

fn ordering(order: Order) -> &'static str {
    match order {
        Order::Relaxed => "monotonic",
        Order::Acquire => "acquire",
        Order::Release => "release",
        Order::AcqRel => "acq_rel",
        Order::SeqCst => "seq_cst",
    }
}

/// The metadata that carries scope and order: see [`crate::translate::atomics`].
fn semantics(scope: Scope, order: Order, kind: Option<AtomicKind>) -> String {
    let kind = kind.map_or(String::new(), |kind| format!(", i32 {}", kind as u32));
    format!("!gpurace.atomic !{{i32 {}, i32 {}{kind}}}", scope as u32, order as u32)
}

/// The text after an atomic instruction's operands.
fn atomic(scope: Scope, order: Order, bytes: u32, kind: Option<AtomicKind>) -> String {
    format!(
        "syncscope(\"{}\") {}, align {bytes}, {}",
        syncscope(scope),
        ordering(order),
        semantics(scope, order, kind)
    )
}

/// Scope and order of a strong access; `None` for a weak or volatile one.
fn strong(strength: Strength) -> Option<(Scope, Order)> {
    match strength {
        Strength::Weak | Strength::Volatile => None,
        Strength::Mmio => Some((Scope::System, Order::Relaxed)),
        Strength::Strong(order, scope) => Some((scope, order)),
    }
}

/// The text of a load or store: what stands before its type, and what follows its address.
fn qualifiers(strength: Strength, bytes: u32) -> (&'static str, String) {
    match strong(strength) {
        Some((scope, order)) => ("atomic ", format!(" {}", atomic(scope, order, bytes, None))),
        None if strength == Strength::Volatile => ("volatile ", format!(", align {bytes}")),
        None => ("", format!(", align {bytes}")),
    }
}

/// A load of one element or of a vector.
fn ld(
    body: &mut Body,
    strength: Strength,
    space: Space,
    ty: Ty,
    d: &[Operand],
    from: &Address,
) -> Translated {
    let (n, bits) = (d.len(), ty.bits());
    if bits > 64 && strength != Strength::Weak {
        return Err(Refused);
    }
    let at = pointer(body, space, from, 0)?;
    let (prefix, how) = qualifiers(strength, ty.bytes());
    let values = match n {
        1 => vec![body.value(format_args!("load {prefix}i{bits}, {at}{how}"))],
        _ if strength == Strength::Weak => {
            let vector = body.value(format_args!("load <{n} x i{bits}>, {at}{how}"));
            body.elements(&vector, n, bits)
        }
        _ => load_at_once(body, strength, ty, n, &at),
    };
    // A destination may hold the address: all elements are read before one is written.
    body.set_all(d, ty, &values)
}

/// A store of one element or of a vector.
fn st(body: &mut Body, strength: Strength, space: Space, ty: Ty, to: &Address, a: &[Operand]) -> Translated {
    let (n, bits) = (a.len(), ty.bits());
    if bits > 64 && strength != Strength::Weak {
        return Err(Refused);
    }
    let values = body.get_all(a, ty)?;
    let at = pointer(body, space, to, 0)?;
    let (prefix, how) = qualifiers(strength, ty.bytes());
    match values.as_slice() {
        [value] => body.line(format_args!("store {prefix}i{bits} {value}, {at}{how}")),
        values if strength == Strength::Weak => {
            let vector = body.vector(values, bits);
            body.line(format_args!("store <{n} x i{bits}> {vector}, {at}{how}"));
        }
        values => store_at_once(body, strength, ty, values, &at),
    }
    Ok(())
}

/// How the host makes an access to a strong vector. In PTX each element is an access, so each has a
/// check ([`crate::translate::atomics::ELEMENTS_METADATA`]). But GPUs move the elements together, and
/// libraries count on that (CUB keeps status and value of a tile in a vector of two).
struct AtOnce {
    /// `load` or `store` is one of this type.
    ty: String,
    /// The text between the instruction's name and its type.
    prefix: &'static str,
    /// The text after its address.
    how: String,
    /// The order, if the instruction does not carry it.
    order: Option<Order>,
}

impl AtOnce {
    fn new(strength: Strength, ty: Ty, n: usize) -> Self {
        let (bits, bytes) = (ty.bits(), n as u32 * ty.bytes());
        let elements = format!(", !{} !{{i32 {n}}}", crate::translate::atomics::ELEMENTS_METADATA);
        // Processors with AVX move 16 bytes at once (Intel SDM, vol. 3, 9.1.1), but LLVM has no atomic
        // access of 16 bytes.
        let ty = if bytes <= 8 { format!("i{}", 8 * bytes) } else { format!("<{n} x i{bits}>") };
        match strong(strength) {
            Some((scope, order)) if bytes <= 8 => Self {
                ty,
                prefix: "atomic ",
                how: format!(" {}{elements}", atomic(scope, order, bytes, None)),
                order: None,
            },
            Some((scope, order)) => {
                let how = format!(", align {bytes}, {}{elements}", semantics(scope, order, None));
                Self { ty, prefix: "volatile ", how, order: Some(order) }
            }
            None => Self { ty, prefix: "volatile ", how: format!(", align {bytes}{elements}"), order: None },
        }
    }
}

/// Keeps the compiler from moving accesses across this place.
const KEEP_ORDER: &str = "call void asm sideeffect \"\", \"~{memory}\"()";

/// Loads a strong vector, and returns its elements.
fn load_at_once(body: &mut Body, strength: Strength, ty: Ty, n: usize, at: &str) -> Vec<String> {
    let AtOnce { ty: whole, prefix, how, order } = AtOnce::new(strength, ty, n);
    let value = body.value(format_args!("load {prefix}{whole}, {at}{how}"));
    if order.is_some_and(|order| order != Order::Relaxed) {
        body.line(KEEP_ORDER);
    }
    let vector = format!("<{n} x i{}>", ty.bits());
    let value =
        if whole == vector { value } else { body.value(format_args!("bitcast {whole} {value} to {vector}")) };
    body.elements(&value, n, ty.bits())
}

/// Stores a strong vector.
fn store_at_once(body: &mut Body, strength: Strength, ty: Ty, values: &[String], at: &str) {
    let (n, bits) = (values.len(), ty.bits());
    let AtOnce { ty: whole, prefix, how, order } = AtOnce::new(strength, ty, n);
    let vector = format!("<{n} x i{bits}>");
    let mut value = body.vector(values, bits);
    if whole != vector {
        value = body.value(format_args!("bitcast {vector} {value} to {whole}"));
    }
    if order.is_some_and(|order| order != Order::Relaxed) {
        body.line(KEEP_ORDER);
    }
    body.line(format_args!("store {prefix}{whole} {value}, {at}{how}"));
}

/// A read-modify-write of one element, or of each element of a vector.
fn atom(body: &mut Body, op: &Op) -> Translated {
    let Op::Atom { op, order, scope, space, ty, d, at, b, c } = op else { return Err(Refused) };
    if ty.bits() > 64 {
        return Err(Refused);
    }
    let operands = body.get_all(b, *ty)?;
    let c = c.as_ref().map(|c| body.get(c, *ty)).transpose()?;
    // `red`, or an `atom` with the destination `_`, which is a reduction too (PTX ISA, `atom`).
    let reduction =
        d.iter().all(|d| *d == Operand::Sink) && !matches!(op, AtomOp::Exchange | AtomOp::CompareAndSwap);
    let kind = reduction.then_some(AtomicKind::Reduction);
    let how = How { ty: *ty, scope: *scope, order: *order, kind };
    let mut results = Vec::new();
    for (i, operand) in operands.iter().enumerate() {
        let at = pointer(body, *space, at, i as u32 * ty.bytes())?;
        results.push(one_atom(body, *op, how, &at, operand, c.as_deref())?);
    }
    body.set_all(d, *ty, &results)
}

/// Type, scope and order of a read-modify-write, and its kind if that does not follow from its instruction.
#[derive(Clone, Copy)]
struct How {
    ty: Ty,
    scope: Scope,
    order: Order,
    kind: Option<AtomicKind>,
}

/// One read-modify-write. Returns the bits before it.
fn one_atom(
    body: &mut Body,
    op: AtomOp,
    how: How,
    at: &str,
    operand: &str,
    new: Option<&str>,
) -> Translated<String> {
    let ty = how.ty;
    let t = format!("i{}", ty.bits());
    let flags = atomic(how.scope, how.order, ty.bytes(), how.kind);
    let signed = ty.is_signed();
    let name = match op {
        AtomOp::CompareAndSwap => {
            let new = new.ok_or(Refused)?;
            return Ok(compare_and_swap(body, how, at, operand, new).0);
        }
        _ if small(ty).is_some() => return small_atom(body, op, how, at, operand),
        AtomOp::Add if ty.is_float() => {
            let float = if ty == Ty::F(64) { "double" } else { "float" };
            let value = body.typed(operand, ty.bits(), float).ok_or(Refused)?;
            let old = body.value(format_args!("atomicrmw fadd {at}, {float} {value} {flags}"));
            return Ok(body.bits_of(&old, float).ok_or(Refused)?.0);
        }
        AtomOp::And => "and",
        AtomOp::Or => "or",
        AtomOp::Xor => "xor",
        AtomOp::Exchange => "xchg",
        AtomOp::Add => "add",
        AtomOp::Inc => "uinc_wrap",
        AtomOp::Dec => "udec_wrap",
        AtomOp::Min if signed => "min",
        AtomOp::Min => "umin",
        AtomOp::Max if signed => "max",
        AtomOp::Max => "umax",
    };
    Ok(body.value(format_args!("atomicrmw {name} {at}, {t} {operand} {flags}")))
}

/// Returns the bits before, and true if they were as expected.
fn compare_and_swap(
    body: &mut Body,
    How { ty, scope, order, kind }: How,
    at: &str,
    expected: &str,
    new: &str,
) -> (String, String) {
    let t = format!("i{}", ty.bits());
    let failure = if order.acquires() { "acquire" } else { "monotonic" };
    let pair = body.value(format_args!(
        "cmpxchg {at}, {t} {expected}, {t} {new} syncscope(\"{}\") {} {failure}, align {}, {}",
        syncscope(scope),
        ordering(order),
        ty.bytes(),
        semantics(scope, order, kind)
    ));
    let old = body.value(format_args!("extractvalue {{ {t}, i1 }} {pair}, 0"));
    let done = body.value(format_args!("extractvalue {{ {t}, i1 }} {pair}, 1"));
    (old, done)
}

/// The suffix of a 16-bit format, or of a pair of its values.
fn small(ty: Ty) -> Option<&'static str> {
    match ty {
        Ty::F(16) => Some("f16"),
        Ty::Bf16 => Some("bf16"),
        Ty::F16x2 => Some("f16x2"),
        Ty::Bf16x2 => Some("bf16x2"),
        _ => None,
    }
}

/// An atomic on a 16-bit format: a compare-and-swap in a loop. The first guess is zero, so that one
/// instruction makes all accesses.
fn small_atom(body: &mut Body, op: AtomOp, how: How, at: &str, operand: &str) -> Translated<String> {
    let t = format!("i{}", how.ty.bits());
    let (before, again, after) = (body.label(), body.label(), body.label());
    body.line(format_args!("br label %{before}\n{before}:\nbr label %{again}\n{again}:"));
    let guess = format!("%{again}.guess");
    let seen = format!("%{again}.seen");
    body.line(format_args!("{guess} = phi {t} [ 0, %{before} ], [ {seen}, %{again} ]"));
    let name = match op {
        AtomOp::Add => "add",
        AtomOp::Min => "min",
        AtomOp::Max => "max",
        _ => return Err(Refused),
    };
    let name = format!("{name}.{}", small(how.ty).ok_or(Refused)?);
    let (new, float) = body.result(&name, &[guess.clone(), operand.to_owned()])?;
    let (new, _) = body.bits_of(&new, &float).ok_or(Refused)?;
    // A swap that fails is no access of the program.
    let how = How { kind: how.kind.or(Some(AtomicKind::Rmw)), ..how };
    let (old, done) = compare_and_swap(body, how, at, &guess, &new);
    body.line(format_args!(
        "{seen} = or {t} {old}, 0\nbr i1 {done}, label %{after}, label %{again}\n{after}:"
    ));
    Ok(old)
}

/// `cp.async`: copies at once, and marks the accesses as asynchronous. Bytes that are not read become
/// zeros.
fn copy(
    body: &mut Body,
    to: &Address,
    from: &Address,
    size: &Operand,
    source_size: Option<&Operand>,
    ignore: Option<&Operand>,
) -> Translated {
    let (to, from) = (pointer(body, Space::Shared, to, 0)?, pointer(body, Space::Global, from, 0)?);
    let size = body.get(size, Ty::U(64))?;
    let mut read = match source_size {
        Some(n) => {
            let n = body.get(n, Ty::U(32))?;
            let n = body.resize(&n, 32, 64, "zext");
            body.call("i64", "llvm.umin.i64", &[("i64", &n), ("i64", &size)])
        }
        None => size.clone(),
    };
    if let Some(ignore) = ignore {
        let ignore = body.get(ignore, Ty::Pred)?;
        read = body.value(format_args!("select i1 {ignore}, i64 0, i64 {read}"));
    }
    body.line(format_args!(
        "call void @llvm.memcpy.p3.p1.i64({to}, {from}, i64 {read}, i1 false), !gpurace.async !{{}}"
    ));
    if source_size.is_some() || ignore.is_some() {
        let rest = body.value(format_args!("sub i64 {size}, {read}"));
        let (ty, start) = to.rsplit_once(' ').ok_or(Refused)?;
        let end = body.value(format_args!("getelementptr i8, {ty} {start}, i64 {read}"));
        body.line(format_args!(
            "call void @llvm.memset.p3.i64({ty} {end}, i8 0, i64 {rest}, i1 false), !gpurace.async !{{}}"
        ));
    }
    Ok(())
}

/// An mbarrier's address, and the suffix of the building blocks for its state space.
pub(super) fn barrier(body: &mut Body, space: Space, at: &Address) -> Translated<(String, &'static str)> {
    let kind = match space {
        Space::Shared | Space::SharedCluster => "p3",
        Space::Generic => "p0",
        _ => return Err(Refused),
    };
    Ok((pointer(body, space, at, 0)?, kind))
}

fn arrive(body: &mut Body, pointer: &str, kind: &str, count: &str, dropped: &str) -> String {
    body.value(format_args!("call i64 @gr.mbarrier.arrive.{kind}({pointer}, i64 {count}, i64 {dropped})"))
}

/// An mbarrier expects bytes of copies, or some are `complete`.
pub(super) fn transact(body: &mut Body, pointer: &str, kind: &str, bytes: &str, complete: bool) {
    let change = if complete { body.value(format_args!("sub i64 0, {bytes}")) } else { bytes.to_owned() };
    body.line(format_args!("call void @gr.mbarrier.transact.{kind}({pointer}, i64 {change})"));
}
