//! What the checker decides about: accesses, records of them, how their threads stand to each
//! other, and what becomes of a record when an access meets it. Nothing here holds state, touches
//! the shadow or knows of launches.

pub mod access;
pub mod entry;
pub(crate) mod op_code;
pub mod race;
pub mod record;
pub mod relation;
pub mod step;
