//! Scopes of atomics, as protocols hold them.

use gpurace_abi::scope::Scope;
use serde::{Deserialize, Serialize};

/// [`Scope`], serialisable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ScopeOf {
    /// The threads of one block.
    Block,
    /// The threads of one cluster.
    Cluster,
    /// The threads of one device.
    Device,
    /// All threads of the program.
    System,
}

impl From<ScopeOf> for Scope {
    fn from(scope: ScopeOf) -> Self {
        match scope {
            ScopeOf::Block => Self::Block,
            ScopeOf::Cluster => Self::Cluster,
            ScopeOf::Device => Self::Device,
            ScopeOf::System => Self::System,
        }
    }
}

impl From<Scope> for ScopeOf {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Block => Self::Block,
            Scope::Cluster => Self::Cluster,
            Scope::Device => Self::Device,
            Scope::System => Self::System,
        }
    }
}
