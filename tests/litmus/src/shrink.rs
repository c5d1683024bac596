//! A smaller program that still shows something.

use crate::program::{Instruction, Meeting, Program, Strength, Update};

/// Returns all programs that have one thing less.
fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for t in 0..program.threads.len() {
        let mut fewer = program.clone();
        let gone = fewer.threads.remove(t);
        for meeting in fewer.meetings.iter_mut().filter(|m| m.has(&gone)) {
            if let Meeting::Lanes { mask, .. } = meeting {
                *mask &= !(1 << (gone.number % 32));
            }
        }
        all.push(fewer);
    }
    for m in 0..program.meetings.len() {
        let mut fewer = program.clone();
        fewer.meetings.remove(m);
        for thread in &mut fewer.threads {
            thread.code.retain(|i| *i != Instruction::Meet(m));
            for i in &mut thread.code {
                if let Instruction::Meet(other) = i
                    && *other > m
                {
                    *other -= 1;
                }
            }
        }
        all.push(fewer);
    }
    for t in 0..program.threads.len() {
        for code in smaller_code(&program.threads[t].code) {
            let mut fewer = program.clone();
            fewer.threads[t].code = code;
            all.push(fewer);
        }
    }
    for x in (0..program.shared.len()).filter(|&x| program.shared[x]) {
        let mut fewer = program.clone();
        fewer.shared[x] = false;
        all.push(fewer);
    }
    all
}

fn smaller_code(code: &[Instruction]) -> Vec<Vec<Instruction>> {
    let mut all = Vec::new();
    let with = |at: usize, new: Vec<Instruction>| {
        let mut other = code[..at].to_vec();
        other.extend(new);
        other.extend_from_slice(&code[at + 1..]);
        other
    };
    for (at, i) in code.iter().enumerate() {
        match i {
            Instruction::Meet(_) => continue,
            Instruction::If { register, test, then } => {
                all.push(with(at, Vec::new()));
                all.push(with(at, then.clone()));
                for then in smaller_code(then) {
                    let (register, test) = (*register, *test);
                    all.push(with(at, vec![Instruction::If { register, test, then }]));
                }
            }
            Instruction::Load { register, at: x, strength } => {
                all.push(with(at, Vec::new()));
                if *strength != Strength::Plain {
                    let strength = Strength::Plain;
                    let load = Instruction::Load { register: *register, at: *x, strength };
                    all.push(with(at, vec![load]));
                }
            }
            Instruction::Store { at: x, value, strength } => {
                all.push(with(at, Vec::new()));
                if *strength != Strength::Plain {
                    let strength = Strength::Plain;
                    let store = Instruction::Store { at: *x, value: *value, strength };
                    all.push(with(at, vec![store]));
                }
            }
            Instruction::Modify { at: x, update, scope, order, .. } => {
                all.push(with(at, Vec::new()));
                if let Update::Exchange(value) = *update
                    && !order.acquires()
                {
                    let strength = Strength::Atomic(*scope, *order);
                    all.push(with(at, vec![Instruction::Store { at: *x, value, strength }]));
                }
            }
            Instruction::Fence { .. } => all.push(with(at, Vec::new())),
        }
    }
    all
}

/// Takes things from a program as long as `shows` holds, which holds for the program itself.
pub fn shrink(program: &Program, shows: &mut impl FnMut(&Program) -> bool) -> Program {
    let mut smallest = program.clone();
    'again: loop {
        for fewer in smaller(&smallest) {
            if fewer.validate().is_ok() && fewer != smallest && shows(&fewer) {
                smallest = fewer;
                continue 'again;
            }
        }
        return smallest;
    }
}
