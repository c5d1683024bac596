//! Matrices that a warp moves between memory and its registers: `ldmatrix`, `stmatrix`, the loads
//! and stores of `wmma`.
//!
//! All lanes run such an instruction together, and PTX leaves open which lane accesses which bytes.
//! The checker assigns them as the executor does. An element of an 8 by 8 matrix belongs to the lane
//! whose register holds it (`translate/ptx_to_ir/matrix.rs`). The elements of a fragment go round
//! the lanes (`translate/nvvm/matrix.rs`). The device runtime computes the addresses of each lane
//! from the rows that the other lanes name.

use gpurace_abi::entry::Entry;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::ir::entry_calls::EntryCalls;
use crate::translate::nvvm::matrix::{Matrix, parse};
use crate::translate::ptx::Op;

/// Matrices of 8 by 8 elements of 2 bytes. Each lane names the address of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    /// The number of matrices.
    pub count: u32,
    /// True if a lane holds parts of columns instead of rows.
    pub transposed: bool,
}

impl Rows {
    /// The matrices of an instruction of inline PTX.
    pub(super) fn of(op: &Op) -> Option<Self> {
        let (registers, transposed) = match op {
            Op::Ldmatrix { d, transposed, .. } => (d, *transposed),
            Op::Stmatrix { a, transposed, .. } => (a, *transposed),
            _ => return None,
        };
        Some(Self { count: registers.len() as u32, transposed })
    }

    /// The matrices of an intrinsic, by its name without `llvm.nvvm.`:
    /// `ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3`.
    fn named(name: &str) -> Option<Self> {
        let words = name.strip_prefix("ldmatrix.sync.aligned.m8n8.")?;
        let count = match words.split('.').next()? {
            "x1" => 1,
            "x2" => 2,
            "x4" => 4,
            _ => return None,
        };
        let has = |word| words.split('.').any(|part| part == word);
        has("b16").then(|| Self { count, transposed: has("trans") })
    }
}

/// The elements that the lanes of a warp access.
enum Elements {
    /// 8 by 8 matrices; the pointer is the lane's row.
    Rows(Rows),
    /// One matrix of a fragment; the pointer is its first element.
    Tile {
        rows: u32,
        columns: u32,
        by_column: bool,
        /// Bytes of an element.
        bytes: u32,
        /// The number of elements from one row, or column, to the next.
        stride: LLVMValueRef,
    },
}

/// An access of a whole warp.
pub(super) struct Moved {
    /// The lane's row, or the first element of the matrix.
    pointer: LLVMValueRef,
    /// True if it writes.
    pub store: bool,
    elements: Elements,
}

impl Moved {
    /// Matrices one row of which lies at `pointer`.
    pub(super) fn rows(pointer: LLVMValueRef, rows: Rows, store: bool) -> Self {
        Self { pointer, store, elements: Elements::Rows(rows) }
    }

    /// The access of an intrinsic, by its name without `llvm.nvvm.`. `None` for other intrinsics, and
    /// for types of less than a byte.
    ///
    /// # Safety
    /// `call` is a live call of it.
    pub(super) unsafe fn of_intrinsic(name: &str, call: LLVMValueRef) -> Option<Self> {
        // SAFETY: by contract; a load has where from and the stride, a store where to, registers and the
        // stride.
        unsafe {
            let arguments = LLVMGetNumArgOperands(call);
            if arguments == 0 {
                return None;
            }
            let pointer = LLVMGetOperand(call, 0);
            if let Some(rows) = Rows::named(name) {
                return Some(Self::rows(pointer, rows, false));
            }
            let Matrix::Move { rows, columns, by_column, bytes, store } = parse(name)? else { return None };
            let stride = LLVMGetOperand(call, arguments - 1);
            Some(Self {
                pointer,
                store,
                elements: Elements::Tile { rows, columns, by_column, bytes, stride },
            })
        }
    }

    /// Bytes that a lane accesses at once.
    pub(super) fn size(&self) -> u32 {
        match self.elements {
            Elements::Rows(Rows { transposed: true, .. }) => 2,
            Elements::Rows(_) => 4,
            Elements::Tile { bytes, .. } => bytes,
        }
    }

    /// The call of the device runtime that checks the access.
    ///
    /// # Safety
    /// The builder is positioned where the pointer and the stride are known.
    pub(super) unsafe fn check(
        &self,
        calls: &EntryCalls,
        builder: LLVMBuilderRef,
        site: u64,
    ) -> (Entry, Vec<LLVMValueRef>) {
        let number = |n: u32| calls.i32(n.into());
        // SAFETY: by contract.
        let pointer = unsafe { calls.generic_pointer(builder, self.pointer) };
        let (store, site) = (number(self.store.into()), calls.i32(site));
        match self.elements {
            Elements::Rows(Rows { count, transposed }) => {
                (Entry::MatrixRows, vec![pointer, number(count), number(transposed.into()), store, site])
            }
            Elements::Tile { rows, columns, by_column, bytes, stride } => {
                let shape = [rows, columns, by_column.into(), bytes].map(number);
                (Entry::MatrixTile, [&[pointer, stride][..], &shape, &[store, site]].concat())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_how_many_rows_there_are() {
        let rows = |count, transposed| Some(Rows { count, transposed });
        assert_eq!(Rows::named("ldmatrix.sync.aligned.m8n8.x4.b16.p3"), rows(4, false));
        assert_eq!(Rows::named("ldmatrix.sync.aligned.m8n8.x1.trans.b16.p0"), rows(1, true));
        // Elements of less than a byte, and other shapes.
        for name in [
            "ldmatrix.sync.aligned.m8n8.x8.b16.p3",
            "ldmatrix.sync.aligned.m16n16.x1.trans.b8.p3",
            "wmma.m16n16k16.load.a.row.stride.f16.p3",
        ] {
            assert_eq!(Rows::named(name), None, "{name}");
        }
    }
}
