//! The Python frames that led to launches. Equal ones are kept once.

use std::collections::HashMap;

use gpurace_report::schema::Call;
use parking_lot::Mutex;

use crate::host::python::PythonFrame;

/// The number of stacks that are kept.
const MOST: usize = 1 << 14;

/// The Python frames that led to a launch, by number. The default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PythonStackId(u32);

/// The Python frames that led to launches.
#[derive(Default)]
pub struct PythonStacks(Mutex<Stacks>);

#[derive(Default)]
struct Stacks {
    known: HashMap<Vec<PythonFrame>, PythonStackId>,
    calls: Vec<Vec<Call>>,
}

impl PythonStacks {
    /// Keeps frames, the innermost first.
    pub fn keep(&self, frames: Vec<PythonFrame>) -> PythonStackId {
        let stacks = &mut *self.0.lock();
        if let Some(&known) = stacks.known.get(&frames) {
            return known;
        }
        if frames.is_empty() || stacks.calls.len() == MOST {
            return PythonStackId::default();
        }
        let call = |frame: &PythonFrame| Call {
            function: Some(frame.function.clone()),
            file: frame.file.clone(),
            line: frame.line,
            column: None,
        };
        stacks.calls.push(frames.iter().map(call).collect());
        let id = PythonStackId(stacks.calls.len() as u32);
        stacks.known.insert(frames, id);
        id
    }

    /// The frames, the innermost first.
    pub fn calls(&self, id: PythonStackId) -> Vec<Call> {
        let stacks = self.0.lock();
        let at = (id.0 as usize).checked_sub(1);
        at.and_then(|at| stacks.calls.get(at)).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_are_kept_once() {
        let stacks = PythonStacks::default();
        let frame = |line| PythonFrame { file: "a.py".to_owned(), line, function: "f".to_owned() };
        assert_eq!(stacks.calls(stacks.keep(Vec::new())), []);
        let ids =
            [vec![frame(1)], vec![frame(2), frame(1)], vec![frame(1)]].map(|frames| stacks.keep(frames));
        assert_eq!(ids[0], ids[2]);
        let lines = |id| stacks.calls(id).iter().map(|call| call.line).collect::<Vec<_>>();
        assert_eq!((lines(ids[0]), lines(ids[1])), (vec![1], vec![2, 1]));
    }
}
