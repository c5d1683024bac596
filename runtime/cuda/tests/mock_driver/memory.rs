//! Memory: shadow, allocations, memory of the program.

use gpurace_cuda::{Gpu, Variant, notes};

use crate::support::*;

#[test]
fn variables_have_shadow() {
    let Some((mut gpu, mut module, _log)) = opened("variables_have_shadow", &[]) else { return };
    let (total, size) = module.variable("total").unwrap();
    assert_eq!(size, 8);
    for (address, racy) in [(total, true), (total + 4, true), (total - 4, false), (total + 8, false)] {
        let before = gpu.counters().unwrap().outside;
        run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 1), address).unwrap();
        gpu.wait().unwrap();
        let found = gpu.take_found();
        let outside = gpu.counters().unwrap().outside - before;
        // A pair of instructions is written a few times only.
        assert!(found.iter().all(|f| f.address == address));
        assert_eq!(outside, if racy { 0 } else { 64 }, "{}", address.wrapping_sub(total) as i64);
        assert!(racy || found.is_empty());
    }
    assert!(gpu.counters().unwrap().races > 0);
}

#[test]
fn without_memory_for_shadow_the_program_goes_on() {
    // Of 64 MiB, 40 are taken: no room for their 80 of shadow.
    let Some((mut gpu, mut module, _log)) =
        opened("without_memory_for_shadow_the_program_goes_on", &[("MOCK_MEMORY", "67108864")])
    else {
        return;
    };
    let large = gpu.allocate(40 << 20).unwrap();
    assert_eq!(gpu.memory.uncovered, 40 << 20);
    run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 1), large).unwrap();
    gpu.wait().unwrap();
    assert_eq!(gpu.take_found(), []);
    let counters = gpu.counters().unwrap();
    assert_eq!(counters.outside, 64, "each access is counted");
    let said = notes(&counters, gpu.memory.uncovered, 0);
    assert!(said.iter().any(|n| n.contains("no memory for their shadow")), "{said:?}");
    // Allocations that do fit are checked.
    assert!(gpu.memory.free(large).unwrap());
    let small = gpu.allocate(4096).unwrap();
    run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 1), small).unwrap();
    gpu.wait().unwrap();
    assert!(!gpu.take_found().is_empty());
    let too_much = gpu.allocate(1 << 30).unwrap_err();
    assert!(too_much.is_out_of_memory());
}

#[test]
fn where_no_memory_can_be_mapped_the_program_goes_on() {
    let name = "where_no_memory_can_be_mapped_the_program_goes_on";
    let Some((mut gpu, mut module, _log)) = opened(name, &[("MOCK_UNMAPPED", "1")]) else { return };
    let a = gpu.allocate(4096).unwrap();
    run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 2), a).unwrap();
    gpu.wait().unwrap();
    assert_eq!(gpu.take_found(), []);
    assert!(gpu.counters().unwrap().outside > 0 && gpu.memory.uncovered >= 4096);
}

#[test]
fn freed_memory_has_no_history() {
    let Some((mut gpu, _module, _log)) = opened("freed_memory_has_no_history", &[]) else { return };
    let a = gpu.allocate(1000).unwrap();
    let b = gpu.allocate(1000).unwrap();
    assert!(a.abs_diff(b) >= 1000);
    assert_eq!(gpu.memory.free(a), Ok(true));
    assert_eq!(gpu.memory.free(a), Ok(false), "freed twice");
    assert_eq!(gpu.allocate(1000), Ok(a));
}

#[test]
fn small_allocations_lie_where_textures_may_show_them() {
    let Some((mut gpu, _module, _log)) = opened("small_allocations_lie_where_textures_may_show_them", &[])
    else {
        return;
    };
    let all: Vec<_> = [1, 256, 300, 4].map(|size| gpu.allocate(size).unwrap()).to_vec();
    assert!(all.iter().all(|address| address % 512 == 0), "{all:x?}");
    assert!(all.is_sorted_by(|a, b| a < b) && all[3] - all[0] == 3 * 512, "{all:x?}");
}

#[test]
fn freed_memory_serves_what_comes_later() {
    let Some((mut gpu, mut module, log)) =
        opened("freed_memory_serves_what_comes_later", &[("MOCK_MEMORY", "67108864")])
    else {
        return;
    };
    let unmapped = || log.count("unmap ");
    // A freed piece serves a somewhat smaller allocation, small or large.
    for (first, later) in [(2000u64, 1200u64), (4 << 20, 3 << 20)] {
        let a = gpu.allocate(first).unwrap();
        gpu.memory.free(a).unwrap();
        assert_eq!(gpu.allocate(later), Ok(a));
        // Its records are forgotten.
        run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 1), a).unwrap();
        gpu.memory.free(a).unwrap();
        assert_eq!(gpu.allocate(first), Ok(a), "all of the place is there again");
        gpu.memory.free(a).unwrap();
        // A much larger piece does not serve it.
        assert_ne!(gpu.allocate(first / 4), Ok(a));
    }
    assert_eq!(unmapped(), 0);
    // 64 MiB have room for one of these allocations with its shadow; each has another size.
    for size in (8..=14).chain((8..14).rev()) {
        let a = gpu.allocate(size << 20).unwrap();
        assert_eq!(gpu.memory.uncovered, 0, "{size} MiB have shadow");
        run(&mut gpu, &mut module, &launch("racy", Variant::Checked, 1), a).unwrap();
        gpu.wait().unwrap();
        gpu.memory.free(a).unwrap();
    }
    assert_eq!(gpu.memory.uncovered, 0);
    assert!(unmapped() > 0);
}

#[test]
fn managed_memory_has_shadow() {
    let Some((mut gpu, mut module, _log)) = opened("managed_memory_has_shadow", &[]) else { return };
    let device = gpu.allocate(4096).unwrap();
    let (total, _) = module.variable("total").unwrap();
    let mut racy = |gpu: &mut Gpu, address| {
        let before = gpu.counters().unwrap();
        run(gpu, &mut module, &launch("racy", Variant::Checked, 1), address).unwrap();
        gpu.wait().unwrap();
        let now = gpu.counters().unwrap();
        let _ = gpu.take_found();
        // The number of races, repeated ones included, and of accesses without shadow.
        (now.races + now.repeated > before.races + before.repeated, now.outside - before.outside)
    };
    assert_eq!(racy(&mut gpu, device), (true, 0));
    // The module has run before: it gets a new table.
    let a = gpu.allocate_managed(1000).unwrap();
    let b = gpu.allocate_managed(8).unwrap();
    for address in [a, a + 996, b, b + 4] {
        assert_eq!(racy(&mut gpu, address), (true, 0), "{}", address - a);
    }
    assert_eq!(racy(&mut gpu, b + 8), (false, 64), "behind it");
    gpu.free_managed(a).unwrap();
    assert_eq!(racy(&mut gpu, b), (true, 0));
    gpu.free_managed(b).unwrap();
    assert_eq!(racy(&mut gpu, total), (true, 0));
    // Allocations that come and go need the memory of one.
    let mut free = Vec::new();
    for _ in 0..20 {
        let address = gpu.allocate_managed(1000).unwrap();
        assert_eq!(racy(&mut gpu, address), (true, 0));
        gpu.free_managed(address).unwrap();
        free.push(gpu.device().memory().unwrap().0);
    }
    assert!(free[4..].iter().all(|now| *now == free[4]), "{free:?}");
    assert_eq!(racy(&mut gpu, device), (true, 0));
}

#[test]
fn memory_of_the_program_has_shadow_too() {
    let Some((mut gpu, mut module, _log)) = opened("memory_of_the_program_has_shadow_too", &[]) else {
        return;
    };
    let page = 4096;
    let memory = vec![0u64; 8 * page / 8];
    let first = memory.as_ptr().addr().next_multiple_of(page);
    let mut racy = |gpu: &mut Gpu, address: usize| {
        let before = gpu.counters().unwrap();
        run(gpu, &mut module, &launch("racy", Variant::Checked, 1), address as u64).unwrap();
        gpu.wait().unwrap();
        let now = gpu.counters().unwrap();
        let _ = gpu.take_found();
        (now.races + now.repeated > before.races + before.repeated, now.outside - before.outside)
    };
    // The driver refuses pages that it has: two variables in one page, one over the pages between,
    // and one that it has as a whole.
    for (start, size) in [
        (first + 100, 4),
        (first + 200, 8),
        (first + 3 * page, page),
        (first + 50, 5 * page),
        (first + page, 4),
    ] {
        gpu.reach_host(start, size).unwrap();
    }
    for at in [0, 100, page, 3 * page + 8, 6 * page - 4] {
        assert_eq!(racy(&mut gpu, first + at), (true, 0), "{at}");
    }
    assert_eq!(racy(&mut gpu, first + 6 * page), (false, 64), "behind it");
}
