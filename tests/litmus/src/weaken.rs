//! Changes of a program that may weaken its order.

use crate::generate::{Maker, PLACES};
use crate::program::Order::{AcqRel, Acquire, Relaxed, Release};
use crate::program::{Instruction, Meeting, Order, Program, Scope, Strength, Test, Update};
use crate::shorthand::*;

impl Maker<'_> {
    /// Any instruction that is not a branch or a meeting.
    fn any(&mut self, locations: usize) -> Instruction {
        let at = self.r.below(locations);
        let scope = self.any_scope();
        let value = self.r.below(3u32);
        match self.r.below(9) {
            0 => ld(self.register(), at),
            1 => st(at, value),
            2 => ld_volatile(self.register(), at),
            3 => st_volatile(at, value),
            4 => ld_atomic(self.r.pick(&[Relaxed, Acquire]), scope, self.register(), at),
            5 => st_atomic(self.r.pick(&[Relaxed, Release]), scope, at, value),
            6 => red(self.r.pick(&[Relaxed, Release]), scope, at, 1),
            7 => {
                let order = self.r.pick(&[Relaxed, Acquire, Release, AcqRel]);
                let update = self.r.pick(&[
                    Update::Add(1),
                    Update::Exchange(2),
                    Update::Swap(0, 1),
                    Update::Swap(1, 2),
                ]);
                atom(order, scope, self.register(), at, update)
            }
            _ => self.fence(scope),
        }
    }

    fn any_scope(&mut self) -> Scope {
        self.r.pick(&[Scope::Cta, Scope::Gpu, Scope::Sys])
    }

    /// Changes one thing.
    pub(crate) fn weaken(&mut self, program: &mut Program) {
        let kind = self.r.below(20);
        let t = self.r.below(program.threads.len());
        match kind {
            0 if program.threads.len() > 2 => drop(program.threads.remove(t)),
            1 => {
                let place = self.r.pick(&PLACES);
                (program.threads[t].block, program.threads[t].number) = place;
            }
            2 => {
                let x = self.r.below(program.shared.len());
                program.shared[x] = !program.shared[x];
            }
            3 if !program.meetings.is_empty() => {
                let m = self.r.below(program.meetings.len());
                program.meetings.remove(m);
                for code in program.threads.iter_mut().map(|t| &mut t.code) {
                    code.retain(|i| *i != Instruction::Meet(m));
                    for i in code {
                        if let Instruction::Meet(other) = i {
                            *other -= usize::from(*other > m);
                        }
                    }
                }
            }
            4 if !program.meetings.is_empty() => {
                let m = self.r.below(program.meetings.len());
                let lane = self.r.below(3);
                if let Meeting::Lanes { mask, .. } = &mut program.meetings[m] {
                    *mask ^= 1 << lane;
                    let meeting = program.meetings[m];
                    for thread in &mut program.threads {
                        let meets = |i: &Instruction| *i == Instruction::Meet(m);
                        if !meeting.has(thread) {
                            thread.code.retain(|i| !meets(i));
                        }
                    }
                }
            }
            5 | 6 => {
                let locations = program.shared.len();
                let new = self.any(locations);
                let code = &mut program.threads[t].code;
                code.insert(self.r.below(code.len() + 1), new);
            }
            _ => {
                let mut code = std::mem::take(&mut program.threads[t].code);
                self.weaken_code(&mut code);
                program.threads[t].code = code;
            }
        }
    }

    fn weaken_code(&mut self, code: &mut Vec<Instruction>) {
        if code.is_empty() {
            return;
        }
        let at = self.r.below(code.len());
        if let Instruction::If { test, then, .. } = &mut code[at] {
            match self.r.below(8) {
                0 => {
                    let then = std::mem::take(then);
                    code.splice(at..=at, then);
                }
                1 => {
                    *test = match *test {
                        Test::Is(v) => self.r.pick(&[Test::IsNot(v), Test::Is(v ^ 1)]),
                        Test::IsNot(v) => Test::Is(v),
                    }
                }
                _ => self.weaken_code(then),
            }
            return;
        }
        match self.r.below(6) {
            0 => drop(code.remove(at)),
            1 if at > 0 => code.swap(at - 1, at),
            _ => {
                let scope = self.any_scope();
                let strong = self.r.chance(50);
                match &mut code[at] {
                    Instruction::Load { strength, .. } => {
                        *strength = self.other(*strength, scope, strong, Acquire)
                    }
                    Instruction::Store { strength, .. } => {
                        *strength = self.other(*strength, scope, strong, Release)
                    }
                    Instruction::Modify { scope: s, order, register, .. } => match strong {
                        true => *s = scope,
                        false if register.is_some() => {
                            *order = self.r.pick(&[Relaxed, Acquire, Release, AcqRel]);
                        }
                        false => *order = self.r.pick(&[Relaxed, Release]),
                    },
                    Instruction::Fence { scope: s, full } => match self.r.chance(80) {
                        true => *s = scope,
                        false => *full = !*full,
                    },
                    Instruction::Meet(_) | Instruction::If { .. } => {}
                }
            }
        }
    }

    fn other(&mut self, old: Strength, scope: Scope, strong: bool, orders: Order) -> Strength {
        match old {
            Strength::Atomic(_, order) if strong => Strength::Atomic(scope, order),
            _ => match self.r.below(4) {
                0 => Strength::Plain,
                1 => Strength::Volatile,
                2 => Strength::Atomic(scope, orders),
                _ => Strength::Atomic(scope, Relaxed),
            },
        }
    }
}
