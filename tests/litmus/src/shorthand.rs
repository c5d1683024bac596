//! Short ways to write programs.

use crate::program::{Instruction, Meeting, Order, Program, Scope, Strength, Test, Thread, Update};

/// A plain load.
pub fn ld(register: usize, at: usize) -> Instruction {
    Instruction::Load { register, at, strength: Strength::Plain }
}

/// A plain store.
pub fn st(at: usize, value: u32) -> Instruction {
    Instruction::Store { at, value, strength: Strength::Plain }
}

/// A volatile load.
pub fn ld_volatile(register: usize, at: usize) -> Instruction {
    Instruction::Load { register, at, strength: Strength::Volatile }
}

/// A volatile store.
pub fn st_volatile(at: usize, value: u32) -> Instruction {
    Instruction::Store { at, value, strength: Strength::Volatile }
}

/// An atomic load.
pub fn ld_atomic(order: Order, scope: Scope, register: usize, at: usize) -> Instruction {
    Instruction::Load { register, at, strength: Strength::Atomic(scope, order) }
}

/// An atomic store.
pub fn st_atomic(order: Order, scope: Scope, at: usize, value: u32) -> Instruction {
    Instruction::Store { at, value, strength: Strength::Atomic(scope, order) }
}

/// A read-modify-write.
pub fn atom(order: Order, scope: Scope, register: usize, at: usize, update: Update) -> Instruction {
    Instruction::Modify { register: Some(register), at, update, scope, order }
}

/// A reduction.
pub fn red(order: Order, scope: Scope, at: usize, add: u32) -> Instruction {
    Instruction::Modify { register: None, at, update: Update::Add(add), scope, order }
}

/// `fence.acq_rel`.
pub fn fence(scope: Scope) -> Instruction {
    Instruction::Fence { scope, full: false }
}

/// `fence.sc`.
pub fn fence_sc(scope: Scope) -> Instruction {
    Instruction::Fence { scope, full: true }
}

/// A branch that is taken if the register has the value.
pub fn if_is(register: usize, value: u32, then: Vec<Instruction>) -> Instruction {
    Instruction::If { register, test: Test::Is(value), then }
}

/// Thread `number` of a block.
pub fn thread(block: u32, number: u32, code: Vec<Instruction>) -> Thread {
    Thread { block, number, code }
}

/// A program with this many locations in global memory, without meetings.
pub fn global(locations: usize, threads: Vec<Thread>) -> Program {
    Program { shared: vec![false; locations], threads, meetings: Vec::new() }
}

/// The same with meetings.
pub fn meeting(meetings: Vec<Meeting>, program: Program) -> Program {
    Program { meetings, ..program }
}
