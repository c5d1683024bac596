//! Which objects may share bytes.

use gpurace_protocol::bounds::{self, Bounds};
use gpurace_protocol::condition::Condition;
use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::{ObjectId, ObjectKind, Space, Uniform};

use crate::encode::Setting;
use crate::expected::is_of_launch;

/// The relation of the bytes of two objects.
#[derive(Clone)]
pub enum Alias {
    /// They share no byte.
    Never,
    /// Both offsets count from a known base; the second base is this many bytes after the first.
    Same(i128),
    /// They share no byte if the condition holds.
    Unless(Condition),
    /// Their pointers lie at computed places of the arguments. They share bytes only where it is one
    /// place, if the condition holds; it does if there is none.
    OnePointer(Option<Condition>),
    /// They lie apart. Two accesses share no byte if both stay within their memory, which ranges do not show; the text
    /// says so.
    Within(String),
    /// They may share bytes; the text says why.
    Unknown(String),
}

/// Returns the relation of the bytes of two objects.
pub fn alias(setting: Setting, a: ObjectId, b: ObjectId) -> Alias {
    let objects = &setting.protocol.objects;
    let (x, y) = (&objects[a.0 as usize].kind, &objects[b.0 as usize].kind);
    let opaque = |why: &str| Alias::Unknown(format!("{why} `{}`", objects[a.0 as usize].name));
    if a == b {
        return match x {
            ObjectKind::Opaque { uniform, space, .. } => {
                let needed = if *space == Space::Shared { Uniform::Block } else { Uniform::Grid };
                if *uniform >= needed {
                    Alias::Same(0)
                } else {
                    opaque("threads may see different addresses in")
                }
            }
            ObjectKind::Unshared => Alias::Never,
            // All threads use one pointer.
            ObjectKind::Slot { at } if is_of_launch(setting.exprs, *at) => Alias::Same(0),
            ObjectKind::Slot { .. } => one_pointer(setting, a, b),
            _ => Alias::Same(0),
        };
    }
    match (x, y) {
        (ObjectKind::Variable { constant: true, .. }, _)
        | (_, ObjectKind::Variable { constant: true, .. }) => Alias::Never,
        (ObjectKind::Opaque { space, .. }, other) | (other, ObjectKind::Opaque { space, .. }) => {
            if other.may_lie_in(*space) {
                let (a, b) = (&objects[a.0 as usize].name, &objects[b.0 as usize].name);
                Alias::Unknown(format!("`{a}` and `{b}` may be the same memory"))
            } else {
                Alias::Never
            }
        }
        (ObjectKind::Param(p), ObjectKind::Param(q)) | (ObjectKind::Image(p), ObjectKind::Image(q))
            if p == q =>
        {
            Alias::Same(0)
        }
        (ObjectKind::Slot { .. }, ObjectKind::Slot { .. } | ObjectKind::Param(_))
        | (ObjectKind::Param(_), ObjectKind::Slot { .. }) => one_pointer(setting, a, b),
        (ObjectKind::Slot { .. }, ObjectKind::Image(_) | ObjectKind::Variable { .. })
        | (ObjectKind::Image(_) | ObjectKind::Variable { .. }, ObjectKind::Slot { .. }) => {
            disjoint(setting, a, b)
        }
        (
            ObjectKind::Param(_) | ObjectKind::Image(_),
            ObjectKind::Param(_) | ObjectKind::Image(_) | ObjectKind::Variable { .. },
        )
        | (ObjectKind::Variable { .. }, ObjectKind::Param(_) | ObjectKind::Image(_)) => {
            disjoint(setting, a, b)
        }
        // What leaves one of them may reach the other.
        (ObjectKind::Variable { .. }, ObjectKind::Variable { .. })
        | (
            ObjectKind::Shared { .. } | ObjectKind::DynamicShared,
            ObjectKind::Shared { .. } | ObjectKind::DynamicShared,
        ) => {
            let kept = |object| bounds::keeps_within(setting.protocol, setting.exprs, object);
            if kept(a) && kept(b) { Alias::Never } else { disjoint(setting, a, b) }
        }
        _ => Alias::Never,
    }
}

/// The relation of two objects behind pointers at computed places of the arguments.
fn one_pointer(setting: Setting, a: ObjectId, b: ObjectId) -> Alias {
    let condition = Condition::Disjoint(a.min(b), a.max(b));
    match setting.launch {
        None => Alias::OnePointer(Some(condition)),
        Some(launch) if condition.holds(setting.protocol, setting.exprs, launch) => Alias::OnePointer(None),
        Some(_) => {
            let name = |object: ObjectId| &setting.protocol.objects[object.0 as usize].name;
            Alias::Unknown(if a == b {
                format!("two of `{}` may be the same memory", name(a))
            } else {
                format!("`{}` and `{}` may be the same memory", name(a), name(b))
            })
        }
    }
}

/// The relation of two objects that share no byte if their memory is disjoint.
fn disjoint(setting: Setting, a: ObjectId, b: ObjectId) -> Alias {
    let condition = Condition::Disjoint(a.min(b), a.max(b));
    let Some(launch) = setting.launch else { return Alias::Unless(condition) };
    if condition.holds(setting.protocol, setting.exprs, launch) {
        return Alias::Never;
    }
    let extent = |o: ObjectId| launch.objects.get(o.0 as usize).copied().flatten();
    match (extent(a), extent(b)) {
        // How far apart two allocations lie is not known: a launch stands for others.
        (Some(x), Some(y))
            if x.allocation == y.allocation || x.allocation.is_none() || y.allocation.is_none() =>
        {
            Alias::Same(i128::from(y.base) - i128::from(x.base))
        }
        _ => {
            let name = |object: ObjectId| &setting.protocol.objects[object.0 as usize].name;
            let why = format!("an access to `{}` or `{}` may leave its memory", name(a), name(b));
            if lie_apart(setting, launch, a, b) { Alias::Within(why) } else { Alias::Unknown(why) }
        }
    }
}

/// True if the memory of two objects is known and has no byte in common.
fn lie_apart(setting: Setting, launch: &Launch, a: ObjectId, b: ObjectId) -> bool {
    let known = |object: ObjectId| {
        let memory = match Bounds::of(setting.protocol, Some(launch), object)? {
            Bounds::Known { memory, .. } | Bounds::Kept(memory) => memory,
            Bounds::Addresses => return None,
        };
        let base = launch.objects.get(object.0 as usize).copied().flatten().map(|extent| extent.base);
        Some((memory, base.map(i128::from)))
    };
    match (known(a), known(b)) {
        (Some((x, Some(p))), Some((y, Some(q)))) => p + x.hi < q + y.lo || q + y.hi < p + x.lo,
        // Shared arrays have no addresses. Two of them lie apart.
        (Some((_, None)), Some((_, None))) => true,
        _ => false,
    }
}
