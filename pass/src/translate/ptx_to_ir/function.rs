//! The function that replaces one inline asm.

use std::collections::{BTreeMap, BTreeSet};

use gpurace_abi::entry::Entry;

use crate::translate::nvvm::template;
use crate::translate::ptx::op::{Op, Operand};
use crate::translate::ptx::types::Ty;
use crate::translate::ptx::{Asm, Guard, Stmt};

use super::body::{Body, Refused, Symbols, Translated};
use super::{address, control, copies, matrix, memory, texture};

/// LLVM types of an asm call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Types {
    /// The results, in the order of the outputs.
    pub results: Vec<String>,
    /// The arguments, in the order of the inputs.
    pub arguments: Vec<String>,
}

impl Types {
    /// The type of the call.
    pub fn result(&self) -> String {
        match self.results.as_slice() {
            [] => "void".to_owned(),
            [one] => one.clone(),
            all => format!("{{ {} }}", all.join(", ")),
        }
    }
}

/// The text of a function, and facts about it.
pub struct WrittenFunction {
    /// The function's definition, with the constants that it uses.
    pub text: String,
    /// The unsupported instructions, by name.
    pub refused: BTreeSet<String>,
    /// Variables of the module that it names, with their address spaces.
    pub symbols: BTreeMap<String, u32>,
    /// True if it uses [`super::special::RESERVED_SHARED`].
    pub reserved_shared: bool,
    /// True if its last parameter is the place of the caller's carry flag.
    pub uses_carry: bool,
}

/// The definition of function `name` for an asm. `None` if the call has other types than the constraints.
pub fn write(asm: &Asm, name: &str, types: &Types, find_symbol: Symbols) -> Option<WrittenFunction> {
    let mut body = Body {
        asm,
        text: String::new(),
        slots: String::new(),
        names: 0,
        refused: BTreeSet::new(),
        symbols: BTreeMap::new(),
        find_symbol,
        constants: String::new(),
        function: name,
        blamed: None,
        reserved_shared: false,
        uses_carry: false,
    };
    body.enter(types)?;
    for (i, block) in asm.blocks.iter().enumerate() {
        body.line(format_args!("b{i}:"));
        let mut branched = false;
        for statement in &asm.statements[block.statements.clone()] {
            branched |= body.statement(statement, i);
        }
        if !branched {
            body.line(format_args!("br label %b{}", i + 1));
        }
    }
    body.line(format_args!("b{}:", asm.blocks.len()));
    body.leave(types)?;
    let arguments = types.arguments.iter().enumerate().map(|(i, t)| format!("{t} %a{i}"));
    let arguments: Vec<_> = arguments.chain(body.uses_carry.then(|| "ptr %cc".to_owned())).collect();
    let text = format!(
        "define {} @\"{name}\"({}) nounwind alwaysinline {{\nentry:\n{}{}}}\n{}",
        types.result(),
        arguments.join(", "),
        body.slots,
        body.text,
        body.constants
    );
    Some(WrittenFunction {
        text,
        refused: body.refused,
        symbols: body.symbols,
        reserved_shared: body.reserved_shared,
        uses_carry: body.uses_carry,
    })
}

/// The definition of a function that only reports an unsupported instruction.
pub fn write_refusal(name: &str, types: &Types, what: &str) -> String {
    let arguments: Vec<_> = types.arguments.iter().enumerate().map(|(i, t)| format!("{t} %a{i}")).collect();
    let result = types.result();
    let (constant, pointer) = string(name, 0, what);
    let last = if result == "void" { "ret void".to_owned() } else { format!("ret {result} zeroinitializer") };
    format!(
        "define {result} @\"{name}\"({}) nounwind alwaysinline {{\n\
         {}\n{last}\n}}\n{constant}",
        arguments.join(", "),
        template::entry_call(Entry::Unsupported, &[&pointer])
    )
}

/// A constant C string and the name of it.
fn string(function: &str, n: usize, text: &str) -> (String, String) {
    let name = format!("@\"{function}.text.{n}\"");
    let escaped: String = text
        .bytes()
        .map(|b| {
            if b.is_ascii_graphic() && b != b'"' && b != b'\\' || b == b' ' {
                char::from(b).to_string()
            } else {
                format!("\\{b:02X}")
            }
        })
        .collect();
    let constant =
        format!("{name} = private unnamed_addr constant [{} x i8] c\"{escaped}\\00\"\n", text.len() + 1);
    (constant, name)
}

impl Body<'_> {
    /// Makes the slots, and moves the arguments into them.
    fn enter(&mut self, types: &Types) -> Option<()> {
        for (i, reg) in self.asm.regs.iter().enumerate() {
            let bits = reg.ty.bits();
            self.line(format_args!("%r{i} = alloca i{bits}\nstore i{bits} 0, ptr %r{i}"));
        }
        let operands: Vec<_> = self.asm.operands.clone();
        for (i, operand) in operands.iter().enumerate() {
            let Some(argument) = operand.argument else { continue };
            let ty = types.arguments.get(argument as usize)?.clone();
            let (value, from) = self.bits_of(&format!("%a{argument}"), &ty)?;
            // A constant is negative at every width if its text is.
            let extend = if operand.immediate { "sext" } else { "zext" };
            let to = operand.ty.bits();
            let value = self.resize(&value, from, to, extend);
            self.line(format_args!("store i{to} {value}, ptr %r{i}"));
        }
        self.line("br label %b0");
        Some(())
    }

    /// Returns the results from their registers; `None` if a result has no operand.
    fn leave(&mut self, types: &Types) -> Option<()> {
        let result_type = types.result();
        let mut aggregate = "poison".to_owned();
        let mut last = None;
        let operands: Vec<_> = self.asm.operands.clone();
        for n in 0..types.results.len() {
            let i = operands.iter().position(|o| o.result == Some(n as u32))?;
            let bits = operands[i].ty.bits();
            let value = self.value(format_args!("load i{bits}, ptr %r{i}"));
            let ty = &types.results[n];
            let value = self.typed(&value, bits, ty)?;
            if types.results.len() > 1 {
                aggregate =
                    self.value(format_args!("insertvalue {result_type} {aggregate}, {ty} {value}, {n}"));
            } else {
                last = Some(value);
            }
        }
        if operands.iter().filter(|o| o.result.is_some()).count() != types.results.len() {
            return None;
        }
        match (types.results.len(), last) {
            (0, _) => self.line("ret void"),
            (1, Some(value)) => self.line(format_args!("ret {result_type} {value}")),
            _ => self.line(format_args!("ret {result_type} {aggregate}")),
        }
        Some(())
    }

    /// The bits of a value of an LLVM type, and how many.
    pub(super) fn bits_of(&mut self, value: &str, ty: &str) -> Option<(String, u16)> {
        if let Some(bits) = ty.strip_prefix('i') {
            return Some((value.to_owned(), bits.parse().ok()?));
        }
        if ty.starts_with("ptr") {
            return Some((self.value(format_args!("ptrtoint {ty} {value} to i64")), 64));
        }
        let bits = type_bits(ty)?;
        Some((self.value(format_args!("bitcast {ty} {value} to i{bits}")), bits))
    }

    /// A value of an LLVM type from bits.
    pub(super) fn typed(&mut self, value: &str, from: u16, ty: &str) -> Option<String> {
        if let Some(bits) = ty.strip_prefix('i') {
            let bits = bits.parse().ok()?;
            return Some(self.resize(value, from, bits, "zext"));
        }
        if ty.starts_with("ptr") {
            let value = self.resize(value, from, 64, "zext");
            return Some(self.value(format_args!("inttoptr i64 {value} to {ty}")));
        }
        let bits = type_bits(ty)?;
        let value = self.resize(value, from, bits, "zext");
        Some(self.value(format_args!("bitcast i{bits} {value} to {ty}")))
    }

    /// Writes a statement. True if it ends basic block `block`.
    fn statement(&mut self, statement: &Stmt, block: usize) -> bool {
        if let Op::Bra { target } = statement.op {
            match self.guard(statement.guard) {
                Some(p) => self.line(format_args!("br i1 {p}, label %b{}, label %b{}", target.0, block + 1)),
                None => self.line(format_args!("br label %b{}", target.0)),
            }
            return true;
        }
        let after = self.guard(statement.guard).map(|p| {
            let (then, after) = (self.label(), self.label());
            self.line(format_args!("br i1 {p}, label %{then}, label %{after}\n{then}:"));
            after
        });
        if self.operation(&statement.op).is_err() {
            let what = match self.blamed.take() {
                Some(operand) => format!("{} of {operand}", statement.mnemonic),
                None => statement.mnemonic.clone(),
            };
            self.refuse(&what);
        }
        if let Some(after) = after {
            self.line(format_args!("br label %{after}\n{after}:"));
        }
        false
    }

    fn guard(&mut self, guard: Option<Guard>) -> Option<String> {
        let guard = guard?;
        let operand = if guard.negated { Operand::NotReg(guard.reg) } else { Operand::Reg(guard.reg) };
        // Reading a register cannot be refused.
        self.get(&operand, Ty::Pred).ok()
    }

    /// Ends the launch with the report that `what` is not supported.
    fn refuse(&mut self, what: &str) {
        self.names += 1;
        let (constant, pointer) = string(self.function, self.names, what);
        self.constants += &constant;
        self.entry(Entry::Unsupported, &[&pointer]);
        self.refused.insert(what.to_owned());
    }

    fn operation(&mut self, op: &Op) -> Translated {
        match op {
            // Here all accesses of a thread are made in one way.
            Op::Nop | Op::ProxyFence | Op::Bra { .. } => Ok(()),
            Op::Unsupported(_) => Err(Refused),
            Op::Value { name, d, of } => self.computed(name, d, of),
            Op::Mov { ty, d, a } => self.moved(*ty, d, a),
            Op::Cvta { .. } | Op::Mapa { .. } | Op::ClusterRank { .. } | Op::Isspacep { .. } => {
                address::operation(self, op)
            }
            Op::Ld { .. }
            | Op::St { .. }
            | Op::Atom { .. }
            | Op::CpAsync { .. }
            | Op::CpAsyncArrive { .. }
            | Op::CpAsyncCommit
            | Op::CpAsyncWait { .. }
            | Op::BulkCommit
            | Op::BulkWait { .. }
            | Op::MbarrierInit { .. }
            | Op::MbarrierInval { .. }
            | Op::MbarrierArrive { .. }
            | Op::MbarrierTx { .. }
            | Op::MbarrierWait { .. }
            | Op::MbarrierPendingCount { .. } => memory::operation(self, op),
            Op::BulkLoad { .. } | Op::BulkStore { .. } | Op::TensorLoad { .. } | Op::TensorStore { .. } => {
                copies::operation(self, op)
            }
            Op::Texture { .. } | Op::SurfaceLoad { .. } | Op::SurfaceStore { .. } => {
                texture::operation(self, op)
            }
            Op::Ldmatrix { .. } | Op::Stmatrix { .. } | Op::Movmatrix { .. } | Op::Mma { .. } => {
                matrix::operation(self, op)
            }
            Op::Fence { .. }
            | Op::Barrier { .. }
            | Op::ClusterArrive { .. }
            | Op::ClusterWait
            | Op::WarpSync { .. }
            | Op::Shfl { .. }
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::Redux { .. }
            | Op::Activemask { .. }
            | Op::Elect { .. }
            | Op::Nanosleep { .. }
            | Op::Trap
            | Op::Exit
            | Op::Brkpt => control::operation(self, op),
        }
    }
}

/// Bits of an LLVM type that is neither integer nor pointer.
fn type_bits(ty: &str) -> Option<u16> {
    Some(match ty {
        "half" | "bfloat" => 16,
        "float" | "<2 x half>" | "<2 x bfloat>" | "<2 x i16>" | "<4 x i8>" => 32,
        "double" | "<2 x float>" | "<2 x i32>" => 64,
        _ => return None,
    })
}
