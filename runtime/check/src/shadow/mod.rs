//! Where records lie: the map from addresses to shadow words, record lists and chains of words,
//! regions of 32 words, and pages. Knows nothing of batches or of running blocks.
//!
//! The shadow word is the unit: 8 bytes for 4 bytes of the program, with one record. A word with
//! more history points to a record list, and a word whose history no list can hold points to a
//! chain. A region replaces its 32 words while their accesses are regular. An access that does not
//! fit opens the region: its words get the records that they would have had one by one. So no
//! history is lost, and races are found and reported by words.
//!
//! | accesses | shadow of a region's 128 bytes |
//! |---|---|
//! | deferred reads | none: an entry for the page, and the log |
//! | a row of threads, one word each, by one instruction | 8 bytes |
//! | a row of threads, one byte each, by one instruction | 8 bytes, and the region's record list |
//! | rows by several instructions or blocks (stencils) | 8 bytes, and the region's record list |
//! | anything else | 8 + 256 bytes, and record lists or chains for some words |

pub(crate) mod chain;
pub(crate) mod fast;
pub(crate) mod history;
pub mod map;
pub(crate) mod page;
pub(crate) mod pieces;
pub(crate) mod process;
pub(crate) mod record_list;
pub(crate) mod region;
pub(crate) mod word;

use crate::model::access::Access;
use crate::model::entry::Entry;
use crate::model::relation::Standing;

/// Takes the races that checks of words find.
pub(crate) trait RaceSink {
    /// A record races with an access. Memory may hold the value of any of several records in the
    /// `contested` bytes of the word.
    fn race(&mut self, record: &Entry, standing: &Standing, access: &Access, contested: u8);
}
