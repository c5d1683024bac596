//! Handles and descriptors. What a program holds is a number that no other of its kind ever had.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::dense::DnMat;
use crate::exports::gemm::Gemm;
use crate::exports::legacy::MatDescr;
use crate::sparse::{SpMat, SpVec};
use crate::status::{Outcome, Status};

/// A handle or a descriptor, as the program holds it. In C it is a pointer.
pub type Raw = usize;

/// All that exist of one kind.
pub struct Registry<T>(Mutex<(BTreeMap<Raw, T>, Raw)>, Status);

impl<T: Clone> Registry<T> {
    const fn new(unknown: Status) -> Self {
        Self(Mutex::new((BTreeMap::new(), 0)), unknown)
    }

    /// Adds one.
    pub fn create(&self, value: T) -> Raw {
        let mut all = self.0.lock();
        // Programs may keep flags in the low bits of pointers.
        all.1 += 16;
        let raw = all.1;
        all.0.insert(raw, value);
        raw
    }

    /// A copy of one.
    ///
    /// # Errors
    /// It does not exist.
    pub fn get(&self, raw: Raw) -> Outcome<T> {
        self.0.lock().0.get(&raw).cloned().ok_or(self.1)
    }

    /// Changes one.
    ///
    /// # Errors
    /// It does not exist.
    pub fn change<R>(&self, raw: Raw, body: impl FnOnce(&mut T) -> R) -> Outcome<R> {
        self.0.lock().0.get_mut(&raw).map(body).ok_or(self.1)
    }

    /// Removes one. Operations keep what they need of it.
    ///
    /// # Errors
    /// It does not exist.
    pub fn destroy(&self, raw: Raw) -> Outcome {
        self.0.lock().0.remove(&raw).map(drop).ok_or(self.1)
    }
}

/// What the program has set for a handle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The `cudaStream_t`, as a number.
    pub stream: usize,
    /// `cusparsePointerMode_t`: 1 if scalars are in the device's memory.
    pub pointer_mode: u32,
}

/// What a solver keeps from its analysis: the address of its buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Analysis(pub usize);

/// `cusparseHandle_t`
pub static HANDLES: Registry<Settings> = Registry::new(Status::NOT_INITIALIZED);
/// `cusparseSpVecDescr_t`
pub static SPARSE_VECTORS: Registry<SpVec> = Registry::new(Status::INVALID_VALUE);
/// `cusparseDnVecDescr_t`: a matrix of one column.
pub static VECTORS: Registry<DnMat> = Registry::new(Status::INVALID_VALUE);
/// `cusparseSpMatDescr_t`
pub static SPARSE: Registry<SpMat> = Registry::new(Status::INVALID_VALUE);
/// `cusparseDnMatDescr_t`
pub static DENSE: Registry<DnMat> = Registry::new(Status::INVALID_VALUE);
/// `cusparseMatDescr_t`
pub static OLD: Registry<MatDescr> = Registry::new(Status::INVALID_VALUE);
/// `cusparseSpSVDescr_t` and `cusparseSpSMDescr_t`
pub static SOLVERS: Registry<Analysis> = Registry::new(Status::INVALID_VALUE);
/// `cusparseSpGEMMDescr_t`
pub static PRODUCTS: Registry<Gemm> = Registry::new(Status::INVALID_VALUE);
