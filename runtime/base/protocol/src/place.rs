//! Places of accesses in the program: the way to each, and the conditions on the way.

use crate::expr::ExprId;
use crate::protocol::{Access, Loop, Protocol, SiteId, Stmt, Sync, Test};

/// One turn on the way from the start of the program to a statement.
#[derive(Clone, Copy, Debug)]
pub enum Turn<'a> {
    /// To this statement of a sequence.
    At {
        /// The sequence.
        body: &'a [Stmt],
        /// The index of the statement.
        index: usize,
    },
    /// Into a branch.
    Branch {
        /// The condition.
        cond: ExprId,
        /// Its value on this branch.
        value: bool,
    },
    /// Into a loop's body.
    Into(&'a Loop),
}

impl Turn<'_> {
    /// True if two turns lead to the same place.
    pub fn is_same(&self, other: &Turn) -> bool {
        match (self, other) {
            (Turn::At { body, index }, Turn::At { body: other, index: same }) => {
                std::ptr::eq(body.as_ptr(), other.as_ptr()) && index == same
            }
            (Turn::Branch { cond, value }, Turn::Branch { cond: other, value: same }) => {
                (cond, value) == (other, same)
            }
            (Turn::Into(of), Turn::Into(other)) => of.id == other.id,
            _ => false,
        }
    }

    /// The condition of a branch, and its value.
    pub fn branch(&self) -> Option<(ExprId, bool)> {
        match self {
            Turn::Branch { cond, value } => Some((*cond, *value)),
            Turn::At { .. } | Turn::Into(_) => None,
        }
    }
}

impl<'a> Turn<'a> {
    /// The loop that the turn leads into.
    pub fn into_loop(&self) -> Option<&'a Loop> {
        match self {
            Turn::Into(of) => Some(of),
            Turn::At { .. } | Turn::Branch { .. } => None,
        }
    }
}

/// Returns the number of turns from the start that two ways have in common.
pub fn common_turns(a: &[Turn<'_>], b: &[Turn<'_>]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x.is_same(y)).count()
}

/// Returns the number of turns that two ways have in common, if they then part in one sequence, the first one further
/// to the front. So a thread that takes both in one iteration of their loops takes the first one first.
pub fn parts_before(first: &[Turn<'_>], second: &[Turn<'_>]) -> Option<usize> {
    let common = common_turns(first, second);
    match (first.get(common)?, second.get(common)?) {
        (Turn::At { index, .. }, Turn::At { index: later, .. }) if index < later => Some(common),
        _ => None,
    }
}

/// An access and the way to it.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The access.
    pub access: &'a Access,
    /// Number of the access statement in the order of the text.
    pub number: usize,
    /// The way from the start of the program.
    pub way: Vec<Turn<'a>>,
}

impl<'a> Place<'a> {
    /// Returns all accesses of a protocol, in the order of the text.
    pub fn all(protocol: &'a Protocol) -> Vec<Self> {
        let mut all = Vec::new();
        visit(&protocol.body, &mut Vec::new(), &mut |stmt, way| {
            if let Stmt::Access(access) = stmt {
                all.push(Place { access, number: all.len(), way: way.to_vec() });
            }
        });
        all
    }

    /// Returns the enclosing loops, outermost first.
    pub fn loops(&self) -> impl Iterator<Item = &'a Loop> + '_ {
        self.way.iter().filter_map(Turn::into_loop)
    }

    /// The access of a site, if the protocol has only one.
    pub fn only(all: &[Self], site: SiteId) -> Option<&Self> {
        let mut of_site = all.iter().filter(|place| place.access.site == site);
        of_site.next().filter(|_| of_site.next().is_none())
    }

    /// Returns the number of turns from the start that both accesses have in common.
    pub fn turns_with(&self, other: &Self) -> usize {
        common_turns(&self.way, &other.way)
    }

    /// True if each thread that makes the other access makes this one before it, in the same iterations of the loops
    /// around this one.
    pub fn is_made_before(&self, other: &Self) -> bool {
        let Some((Turn::At { body, index }, to)) = self.way.split_last() else { return false };
        let Some(Turn::At { body: same, index: later }) = other.way.get(to.len()) else { return false };
        to.iter().zip(&other.way).all(|(x, y)| x.is_same(y))
            && std::ptr::eq(body.as_ptr(), same.as_ptr())
            && index < later
    }

    /// Returns the conditions that hold at the access, outermost first.
    pub fn guards(&self) -> Vec<(ExprId, bool)> {
        guards(&self.way)
    }
}

/// Returns the conditions that hold at the end of a way, outermost first.
pub fn guards(way: &[Turn<'_>]) -> Vec<(ExprId, bool)> {
    way.iter()
        .filter_map(|turn| match turn {
            Turn::Branch { cond, value } => Some((*cond, *value)),
            Turn::Into(of) if of.test == Test::Before => Some((of.cond, true)),
            Turn::Into(_) | Turn::At { .. } => None,
        })
        .collect()
}

/// Returns the ways to all synchronisation of a protocol, in the order of the text.
pub fn syncs(protocol: &Protocol) -> Vec<(Sync, Vec<Turn<'_>>)> {
    let mut all = Vec::new();
    visit(&protocol.body, &mut Vec::new(), &mut |stmt, way| {
        if let Stmt::Sync(sync) = stmt {
            all.push((*sync, way.to_vec()));
        }
    });
    all
}

fn visit<'a>(body: &'a [Stmt], way: &mut Vec<Turn<'a>>, found: &mut dyn FnMut(&'a Stmt, &[Turn<'a>])) {
    for (index, stmt) in body.iter().enumerate() {
        way.push(Turn::At { body, index });
        match stmt {
            Stmt::Access(_) | Stmt::Sync(_) => found(stmt, way),
            Stmt::If { cond, then, otherwise } => {
                for (value, branch) in [(true, then), (false, otherwise)] {
                    way.push(Turn::Branch { cond: *cond, value });
                    visit(branch, way, found);
                    way.pop();
                }
            }
            Stmt::Loop(of) => {
                way.push(Turn::Into(of));
                visit(&of.body, way, found);
                way.pop();
            }
            Stmt::Unknown(_) => {}
        }
        way.pop();
    }
}
