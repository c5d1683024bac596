//! What the libraries of matrices share: how they read parameters, and how they tell the runtime's errors.

/// `cublasOperation_t` and `cusparseOperation_t`: what is done with a matrix before it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The matrix itself.
    Plain,
    /// Its transpose.
    Transposed,
    /// Its conjugate transpose.
    ConjugateTransposed,
}

impl Operation {
    /// The operation with this number in C.
    pub fn of_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Plain),
            1 => Some(Self::Transposed),
            2 => Some(Self::ConjugateTransposed),
            _ => None,
        }
    }

    /// Rows and columns change places.
    pub fn transposes(self) -> bool {
        self != Self::Plain
    }

    /// Elements are conjugated.
    pub fn conjugates(self) -> bool {
        self == Self::ConjugateTransposed
    }

    /// Rows and columns, as they are stored, of a matrix that has these after the operation, and the other way round.
    pub fn stored(self, rows: usize, columns: usize) -> (usize, usize) {
        if self.transposes() { (columns, rows) } else { (rows, columns) }
    }
}

/// Defines how a library of matrices reads its parameters, beside its [`statuses!`](crate::statuses).
#[macro_export]
macro_rules! parameters {
    () => {
        pub use $crate::matrix::Operation;

        impl Status {
            /// The status that tells of a `cudaError_t` of the runtime.
            pub fn of_runtime(error: u32) -> Self {
                match error {
                    1 => Self::INVALID_VALUE,
                    // cudaErrorNotSupported
                    801 => Self::NOT_SUPPORTED,
                    _ => Self::EXECUTION_FAILED,
                }
            }
        }

        /// `Ok` if the condition holds.
        ///
        /// # Errors
        /// The value is invalid.
        pub fn valid(condition: bool) -> Outcome {
            Status::INVALID_VALUE.unless(condition)
        }

        /// A size or a count.
        ///
        /// # Errors
        /// The value is invalid: it is negative.
        pub fn size(number: i64) -> Outcome<usize> {
            usize::try_from(number).map_err(|_| Status::INVALID_VALUE)
        }

        /// The operation with this number.
        ///
        /// # Errors
        /// The value is invalid: there is none.
        pub fn as_operation(number: u32) -> Outcome<Operation> {
            Operation::of_number(number).ok_or(Status::INVALID_VALUE)
        }
    };
}
