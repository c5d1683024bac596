//! What a launch must fulfil for a proof to hold, and whether it does.

use serde::{Deserialize, Serialize};

use crate::expr::ExprId;
use crate::protocol::ObjectId;

/// A condition on one launch. Ids are those of
/// [`Verdicts::exprs`](crate::verdict::Verdicts::exprs) and of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Condition {
    /// A 1-bit expression over parameters, `blockDim` and `gridDim` is 1:
    /// `blockDim.y == 1`, `blockDim.x <= 256`, `n % blockDim.x == 0`.
    Holds(ExprId),
    /// The expression, computed without wrapping, has a value of its width in
    /// each thread and iteration where it is computed.
    Fits {
        /// Which.
        value: ExprId,
        /// As a signed number, else as an unsigned one.
        signed: bool,
        /// Only threads and iterations matter where each of these 1-bit
        /// expressions has this value.
        guards: Vec<(ExprId, bool)>,
    },
    /// No access to one object touches a byte that an access to the other
    /// touches, unless both only read.
    Disjoint(ObjectId, ObjectId),
}
