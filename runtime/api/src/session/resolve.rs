//! Turns the checker's addresses and site numbers into the report's names, lines and objects.

use gpurace_abi::flow::Flow;
use gpurace_abi::meta::{Elements, Frame, ModuleMeta, PointerPlace, Site};
use gpurace_abi::symbol;
use gpurace_check::{RaceRecord, RaceScope, Side, SideOp, Space};
use gpurace_options::select::ObjectDescription;
use gpurace_report::barriers::Pair;
use gpurace_report::cause::{self, Cause};
use gpurace_report::hint::{self, SideFacts};
use gpurace_report::schema;

use crate::backend::module::Kernel;
use crate::host::stack::Callers;
use crate::program::Program;
use crate::program::allocations::Allocation;
use crate::program::modules::Modules;
use crate::session::launch_record::LaunchRecord;
use crate::session::{Session, shared_objects, transfer_sites, watch};

/// The innermost frame in user code. If all are in headers of the toolkit, the innermost of all.
pub(super) fn user_frame<'a>(meta: &ModuleMeta, frames: &'a [Frame]) -> Option<&'a Frame> {
    let is_user = |frame: &&Frame| meta.files.get(frame.file as usize).is_some_and(|f| !f.system);
    frames.iter().find(is_user).or_else(|| frames.first())
}

/// File and line of a frame.
pub(super) fn position(meta: &ModuleMeta, frame: &Frame) -> (Option<String>, Option<u32>) {
    let file = meta.files.get(frame.file as usize).map(|file| file.name.clone());
    (file, (frame.line != 0).then_some(frame.line))
}

/// A launch as the report shows it.
pub fn launch(program: &Program, record: &LaunchRecord) -> schema::Launch {
    let (file, line, stack) = program.launched_at(record.call_site, &record.stack, record.python);
    schema::Launch {
        index: record.id,
        file,
        line,
        stack,
        grid: record.shape.grid,
        block: record.shape.block,
        regions: program.named_regions.names(record.region),
    }
}

/// The site with this number among the sites of all modules.
fn site(modules: &Modules, global: u32) -> Option<(&'static ModuleMeta, &'static Site)> {
    let module = modules.module_of_site(global)?;
    Some((module.checked, module.checked.sites.get((global - module.site_base) as usize)?))
}

/// True if a side is the end of its block.
fn is_end_of_block(modules: &Modules, side: &Side) -> bool {
    modules
        .module_of_site(side.site)
        .is_some_and(|module| side.site - module.site_base == module.end_of_block())
}

/// The effect of a side. A volatile access is reported as a plain one.
fn effect(modules: &Modules, side: &Side) -> schema::Effect {
    let volatile = site(modules, side.site).is_some_and(|(_, site)| site.volatile);
    match side.op {
        SideOp::Read => schema::Effect::Read,
        SideOp::Write => schema::Effect::Write,
        SideOp::AtomicLoad if volatile => schema::Effect::Read,
        SideOp::AtomicWrite if volatile => schema::Effect::Write,
        SideOp::AtomicLoad | SideOp::AtomicWrite => schema::Effect::Atomic,
    }
}

/// The calls in user code through which `shown` was inlined, itself first. The last one is the kernel, whosever it is.
fn calls(meta: &ModuleMeta, frames: &[Frame], shown: &Frame) -> Vec<schema::Call> {
    let outer = frames.iter().skip_while(|frame| !std::ptr::eq(*frame, shown));
    let is_kernel = |frame: &Frame| frames.last().is_some_and(|last| std::ptr::eq(last, frame));
    outer
        .filter_map(|frame| {
            let file = meta.files.get(frame.file as usize);
            let file = file.filter(|file| !file.system || is_kernel(frame) || std::ptr::eq(frame, shown))?;
            Some(schema::Call {
                function: (!frame.function.is_empty()).then(|| frame.function.clone()),
                file: file.name.clone(),
                line: frame.line,
                column: (frame.column != 0).then_some(frame.column),
            })
        })
        .filter(|call| call.line != 0)
        .collect()
}

/// A side of a race as the report shows it.
fn access(session: &Session, side: &Side, launch: Option<&LaunchRecord>) -> schema::Access {
    let modules = &session.program.modules;
    let of_host = |op, callers: Option<Callers>| {
        let position = callers.and_then(|callers| session.program.position_in_user_code(&callers));
        let (file, line) = position.map(|position| (position.file, position.line)).unzip();
        schema::Access { file, line, ..schema::Access::new(op) }
    };
    if watch::is_site(side.site) {
        return of_host(schema::Op::Host, session.watch.callers(side.site));
    }
    if transfer_sites::is_one(side) {
        let call = session.transfer_calls.lock().call(side.site);
        let size = side.size.map(u64::from);
        let function = call.and_then(|call| call.library_function).map(str::to_owned);
        let access = of_host(schema::Op::Copy, call.map(|call| call.callers));
        return schema::Access { size, stream: Some(side.stream), function, ..access };
    }
    let op = match effect(modules, side) {
        schema::Effect::Read => schema::Op::Read,
        schema::Effect::Write => schema::Op::Write,
        schema::Effect::Atomic => schema::Op::Atomic,
    };
    let mut access = schema::Access::new(op);
    access.size = side.size.map(u64::from);
    access.launch = launch.map(|launch| launch.id);
    access.stream = Some(side.stream);
    if let Some(launch) = launch {
        access.block = side.block.map(|block| launch.shape.block_index(block));
        access.thread = side.thread.map(|thread| launch.shape.thread_index(thread));
    }
    if is_end_of_block(modules, side) {
        access.ends_block = true;
        (access.size, access.thread) = (None, None);
    }
    if let Some((meta, site)) = site(modules, side.site) {
        access.size = access.size.or((site.size != 0).then(|| site.size.into()));
        if let Some(frame) = user_frame(meta, &site.frames) {
            (access.file, access.line) = position(meta, frame);
            access.column = (frame.column != 0).then_some(frame.column);
            access.frames = calls(meta, &site.frames, frame);
            access.function = (!frame.function.is_empty()).then(|| frame.function.clone());
        }
        access.parameter = launch.and_then(|launch| parameter(launch, site));
    }
    access
}

/// The pointer in the kernel's arguments that the address of an access starts from. `None` if it is null: it names no
/// object, and an address that was added to it says which one.
fn parameter(launch: &LaunchRecord, site: &Site) -> Option<schema::Parameter> {
    let place = site.parameter?;
    let name = launch.kernel.meta().params.get(place.index as usize)?.name_at(place.offset);
    let is_null = pointer(launch, place) == Some(0);
    (!name.is_empty() && !is_null).then(|| schema::Parameter { name, number: place.index + 1 })
}

/// The pointer at this place in the arguments of a launch.
fn pointer(launch: &LaunchRecord, place: PointerPlace) -> Option<usize> {
    let param = launch.kernel.meta().params.get(place.index as usize)?;
    let from = param.offset as usize + place.offset as usize;
    let bytes: Vec<u8> = launch.args.iter().flat_map(|word| word.to_le_bytes()).collect();
    usize::try_from(u64::from_le_bytes(*bytes.get(from..)?.first_chunk()?)).ok()
}

/// The element of an allocation, if the allocation holds what this pointer in the kernel's arguments points to.
fn element_behind(object: &schema::Object, kernel: &Kernel, place: PointerPlace) -> Option<schema::Element> {
    let param = kernel.meta().params.get(place.index as usize)?;
    if let Some(pointee) = &param.pointee {
        let element = element_of(object, &pointee.name, pointee.size)?;
        let field = pointee.field_at(element.byte);
        return Some(schema::Element { field, ..element });
    }
    if let Some(own_type) = &param.own_type {
        let pointee = own_type.field(place.offset.into())?.pointee.as_ref()?;
        return element_of(object, &pointee.name, pointee.size);
    }
    let (ty, size) = symbol::pointee(symbol::parameter_types(&kernel.demangled).get(place.index as usize)?)?;
    element_of(object, ty, size)
}

/// The element of an allocation that holds elements of this type and size.
fn element_of(object: &schema::Object, ty: &str, size: u64) -> Option<schema::Element> {
    let offset = object.offset?;
    (!ty.is_empty() && object.size?.checked_rem(size)? == 0).then(|| schema::Element {
        index: vec![offset / size],
        byte: offset % size,
        ty: Some(ty.to_owned()),
        field: None,
    })
}

/// A memory object of a race.
#[derive(Clone, Debug)]
pub struct MemoryObject {
    /// The object as the report shows it.
    pub shown: schema::Object,
    /// It lies in shared memory.
    shared: bool,
    /// Its number among the allocations.
    order: Option<u64>,
}

impl MemoryObject {
    pub(super) fn shared(
        name: Option<String>,
        size: Option<u64>,
        offset: Option<u64>,
        elements: &Elements,
    ) -> Self {
        let kind = schema::ObjectKind::Shared;
        let element = offset.and_then(|offset| element(elements, offset));
        let shown = schema::Object { kind, name, size, offset, element, allocated_at: None, parameter: None };
        Self { shown, shared: true, order: None }
    }

    /// Its description for the option `objects`.
    pub fn description(&self) -> ObjectDescription<'_> {
        ObjectDescription {
            shared: self.shared,
            name: self.shown.name.as_deref().filter(|_| self.order.is_none()),
            size: self.shown.size.unwrap_or_default(),
            order: self.order,
        }
    }
}

/// The element of a variable that holds this byte.
fn element(elements: &Elements, offset: u64) -> Option<schema::Element> {
    let (index, byte) = elements.at(offset)?;
    Some(schema::Element { index, byte, ty: None, field: None })
}

/// The variable or allocation that holds a global address.
pub fn global_object(program: &Program, address: usize) -> Option<MemoryObject> {
    if let Some(variable) = program.modules.variable_at(address) {
        let offset = (address - variable.address) as u64;
        return Some(MemoryObject {
            shown: schema::Object {
                kind: schema::ObjectKind::Variable,
                name: Some(variable.name.to_owned()),
                size: Some(variable.size as u64),
                offset: Some(offset),
                element: element(variable.elements, offset),
                allocated_at: None,
                parameter: None,
            },
            shared: false,
            order: None,
        });
    }
    let allocation = program.allocations.find(address)?;
    let offset = Some((address - allocation.address) as u64);
    let shown = schema::Object { offset, ..allocation_object(program, &allocation) };
    Some(MemoryObject { shown, shared: false, order: Some(allocation.order.into()) })
}

/// An allocation as the report shows it.
pub fn allocation_object(program: &Program, allocation: &Allocation) -> schema::Object {
    let allocated_at = program.position_in_user_code(&allocation.callers);
    schema::Object {
        kind: schema::ObjectKind::Allocation,
        name: Some(format!("#{}", allocation.order)),
        size: Some(allocation.size as u64),
        offset: None,
        element: None,
        allocated_at: allocated_at.map(|at| schema::Position { file: at.file, line: at.line }),
        parameter: None,
    }
}

/// The object at the first byte of the later access, or else at the first common byte.
fn object(program: &Program, record: &RaceRecord, launch: Option<&LaunchRecord>) -> Option<MemoryObject> {
    let address = record.later.address.unwrap_or(record.address);
    match record.space {
        Space::Shared => {
            let offset = address.checked_sub(record.shared_base)?;
            Some(shared_objects::object_at(launch?, offset as u64))
        }
        Space::Global => global_object(program, address),
    }
}

/// The facts about a side that a hint depends on.
fn facts(
    program: &Program,
    side: &Side,
    launch: Option<&LaunchRecord>,
    object: Option<&MemoryObject>,
) -> SideFacts {
    let modules = &program.modules;
    let site = site(modules, side.site).map(|(_, site)| site);
    let leads_out =
        |site| strays_from(site, &object?.shown).or_else(|| leads_out_of(program, launch?, site, object?));
    SideFacts {
        strays_from: site.and_then(leads_out),
        atomic_scope: side.scope,
        volatile: site.is_some_and(|site| site.volatile),
        asynchronous: site.is_some_and(|site| site.asynchronous),
        ends_block: is_end_of_block(modules, side),
        fences: launch.is_some_and(|launch| launch.kernel.meta().sync.fences),
    }
}

/// The variable that an access started from, if its bytes are in another one.
fn strays_from(site: &'static Site, object: &schema::Object) -> Option<&'static str> {
    use schema::ObjectKind::{Shared, Variable};
    let variable = site.variable.as_deref()?;
    let name = object.name.as_deref().filter(|_| matches!(object.kind, Shared | Variable))?;
    (name.rsplit("::").next() != Some(variable)).then_some(variable)
}

/// The parameter that an access started from, if its bytes are in another allocation than the one that it points to.
fn leads_out_of(
    program: &Program,
    launch: &LaunchRecord,
    site: &Site,
    object: &MemoryObject,
) -> Option<&'static str> {
    let place = site.parameter?;
    let param = launch.kernel.meta().params.get(place.index as usize)?;
    let pointer = pointer(launch, place)?;
    let own = object.order?;
    let is_elsewhere = |allocation: &Allocation| u64::from(allocation.order) != own;
    // Where two allocations lie side by side, a pointer behind the end of one of them points to the other one.
    let is_end =
        program.allocations.find(pointer.checked_sub(1)?).is_some_and(|before| !is_elsewhere(&before));
    let leads_out = is_elsewhere(&program.allocations.find(pointer)?) && !is_end;
    (leads_out && !param.name.is_empty()).then_some(&*param.name)
}

/// A race as the report shows it, with its object. `None` for two accesses that only read, which
/// are no race. `launch_of` returns the record of an operation that is a launch.
pub fn race(
    session: &Session,
    record: &RaceRecord,
    launch_of: impl Fn(u64) -> Option<LaunchRecord>,
) -> Option<Resolved> {
    let object = object(&session.program, record, launch_of(record.later.launch).as_ref());
    race_at(session, record, object, launch_of)
}

/// The same for a known object.
pub fn race_at(
    session: &Session,
    record: &RaceRecord,
    object: Option<MemoryObject>,
    launch_of: impl Fn(u64) -> Option<LaunchRecord>,
) -> Option<Resolved> {
    let program = &session.program;
    let modules = &program.modules;
    let kind = schema::RaceKind::new(effect(modules, &record.earlier), effect(modules, &record.later))?;
    let launches = [&record.later, &record.earlier].map(|side| launch_of(side.launch));
    let [later_launch, earlier_launch] = launches.each_ref().map(Option::as_ref);
    let sides = [(&record.later, later_launch), (&record.earlier, earlier_launch)];
    // If one side is a transfer, only the other one has a launch.
    let shown_launch = later_launch.or(earlier_launch);
    let mut race = schema::Race {
        kind,
        space: match record.space {
            Space::Shared => gpurace_abi::meta::Space::Shared,
            Space::Global => gpurace_abi::meta::Space::Global,
        },
        scope: scope(record.scope),
        same_value: record.same_value,
        kernel: modules.kernel_of_key(record.kernel.0).map(|kernel| kernel.demangled.clone()),
        launch: shown_launch.map(|shown| launch(program, shown)),
        object: object.as_ref().map(|object| object.shown.clone()),
        accesses: sides.map(|(side, launch)| access(session, side, launch)),
        hint: None,
        count: record.count,
        seed: record.seed,
    };
    let facts = sides.map(|(side, launch)| facts(program, side, launch, object.as_ref()));
    name_object(modules, &mut race, sides, &facts);
    let known_in_kernel = later_launch.and_then(|launch| InKernel::of(launch.kernel, record));
    let in_kernel = known_in_kernel.filter(|_| session.may_seek_cause());
    let mut cause = match in_kernel {
        Some(in_kernel) => cause_of_wider(&race, scope(record.widest).max(race.scope), facts, in_kernel),
        None => cause::of(&race, facts, None),
    };
    cause.is_traced = known_in_kernel.is_none() || in_kernel.is_some();
    race.hint.clone_from(&cause.hint);
    Some(Resolved { race, cause, facts, object, in_kernel })
}

/// Gives the object of a race the name of a side's parameter, and the element behind it.
fn name_object(
    modules: &Modules,
    race: &mut schema::Race,
    sides: [(&Side, Option<&LaunchRecord>); 2],
    facts: &[SideFacts; 2],
) {
    // What leads out of its array has another object's name.
    let mut named = facts
        .iter()
        .zip(&race.accesses)
        .zip(sides)
        .filter(|((facts, access), _)| facts.strays_from.is_none() && access.parameter.is_some());
    let (Some(object), Some(((_, access), (side, launch)))) = (&mut race.object, named.next()) else {
        return;
    };
    object.parameter.clone_from(&access.parameter);
    let place = site(modules, side.site).and_then(|(_, site)| site.parameter);
    if let (None, Some(launch), Some(place)) = (&object.element, launch, place) {
        object.element = element_behind(object, launch.kernel, place);
    }
}

/// The cause of a race in one kernel where threads of a wider group race on the same lines too. No barrier of a block
/// orders threads of several blocks, for example.
pub fn cause_of_wider(
    race: &schema::Race,
    widest: schema::Scope,
    facts: [SideFacts; 2],
    in_kernel: InKernel,
) -> Cause {
    let wider = schema::Race { scope: widest, ..race.clone() };
    let cause = cause::of(&wider, facts, Some(in_kernel.flow_and_pair()));
    match race.scope {
        schema::Scope::Warp | schema::Scope::Block => {
            Cause { hint: cause.hint.as_deref().map(hint::of_threads), ..cause }
        }
        _ => cause,
    }
}

/// A group of threads as the report calls it.
pub fn scope(scope: RaceScope) -> schema::Scope {
    match scope {
        RaceScope::Warp => schema::Scope::Warp,
        RaceScope::Block => schema::Scope::Block,
        RaceScope::Cluster => schema::Scope::Cluster,
        RaceScope::Grid => schema::Scope::Grid,
        RaceScope::Device => schema::Scope::Device,
        RaceScope::System => schema::Scope::System,
    }
}

/// A race as the report shows it.
pub struct Resolved {
    /// The race.
    pub race: schema::Race,
    /// Its cause.
    pub cause: Cause,
    /// What the cause depends on beside the race.
    pub facts: [SideFacts; 2],
    /// Its object.
    pub object: Option<MemoryObject>,
    /// Both sides belong to one launch of a kernel whose control flow is known.
    pub in_kernel: Option<InKernel>,
}

/// The sites of a race within one kernel.
#[derive(Clone, Copy)]
pub struct InKernel {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// Its control flow.
    pub flow: &'static Flow,
    /// The sites, the earlier first.
    pub pair: Pair,
}

impl InKernel {
    /// What a cause is found from.
    pub(super) fn flow_and_pair(self) -> cause::InKernel<'static> {
        cause::InKernel { flow: self.flow, pair: self.pair }
    }

    /// The sites of a race, if both sides are of one launch of this kernel, and its control flow is known.
    fn of(kernel: &'static Kernel, record: &RaceRecord) -> Option<Self> {
        let module = kernel.module;
        let same = record.later.launch == record.earlier.launch && std::ptr::eq(module.meta, module.checked);
        let number = |side: &Side| {
            let site = side.site.checked_sub(module.site_base)?;
            ((site as usize) < module.checked.sites.len()).then_some(site)
        };
        let pair = [number(&record.earlier)?, number(&record.later)?];
        same.then_some(())?;
        Some(Self { kernel, flow: kernel.meta().flow.as_ref()?, pair })
    }
}

/// Position of a synchronisation of the kernel's module.
pub fn sync_position(kernel: &Kernel, sync: u32) -> (Option<String>, Option<u32>) {
    let meta = kernel.module.meta;
    user_position(meta, meta.syncs.get(sync as usize).map(|sync| &sync.frames[..]))
}

/// Position of an access of the kernel's module.
pub fn site_position(kernel: &Kernel, site: u32) -> (Option<String>, Option<u32>) {
    let meta = kernel.module.meta;
    user_position(meta, meta.sites.get(site as usize).map(|site| &site.frames[..]))
}

/// File and line of the innermost of these frames in user code.
fn user_position(meta: &ModuleMeta, frames: Option<&[Frame]>) -> (Option<String>, Option<u32>) {
    frames.and_then(|frames| user_frame(meta, frames)).map_or((None, None), |frame| position(meta, frame))
}
