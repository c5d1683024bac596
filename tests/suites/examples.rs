//! The examples race as they are. With `-DFIXED` they do not.

use std::path::PathBuf;

use gpurace_tests::toolchain::{Checked, compile, run_checked, work_folder, workspace};

fn source(name: &str) -> PathBuf {
    workspace().join("examples").join(name).join(name).with_extension("cu")
}

/// Builds and runs an example. `flags` are further arguments of the compiler.
fn run(name: &str, flags: &[&str], args: &[&str]) -> Checked {
    let folder = work_folder(&format!("example_{name}{}", flags.concat())).unwrap();
    let source = source(name);
    let mut all = vec!["-fsanitize=gpurace", source.to_str().unwrap(), "-o", name];
    all.extend(flags);
    compile(&all, &folder).unwrap();
    run_checked(&folder.join(name), args, "", &folder).unwrap()
}

/// Asserts that the racy form reports a race between the lines with these texts, for each pair, and
/// that the corrected form reports none and computes the right result.
fn check(name: &str, args: &[&str], pairs: &[(&str, &str)]) {
    let text = std::fs::read_to_string(source(name)).unwrap();
    let line = |fragment: &str| {
        let at = text.lines().position(|l| l.contains(fragment));
        at.unwrap_or_else(|| panic!("`{fragment}` is not in {name}.cu")) as u32 + 1
    };
    for opt in ["-O0", "-O2"] {
        let racy = run(name, &[opt], args);
        assert_eq!(racy.outcome.status, Some(66), "{}", racy.outcome.stderr);
        let found: Vec<[u32; 2]> = racy
            .report
            .unwrap()
            .races
            .iter()
            .map(|r| {
                let mut lines = [r.accesses[0].line.unwrap(), r.accesses[1].line.unwrap()];
                lines.sort_unstable();
                lines
            })
            .collect();
        for (a, b) in pairs {
            let mut want = [line(a), line(b)];
            want.sort_unstable();
            assert!(found.contains(&want), "{name} {opt}: no race between `{a}` and `{b}` in {found:?}");
        }

        let fixed = run(name, &[opt, "-DFIXED"], args);
        assert_eq!(fixed.outcome.status, Some(0), "{}{}", fixed.outcome.stdout, fixed.outcome.stderr);
        let report = fixed.report.unwrap();
        assert!(report.races.is_empty(), "{}", fixed.outcome.stderr);
        // The launches were checked, or proved.
        assert!(report.stats.launches > 0 && report.stats.sites.total > 0);
        assert_eq!(fixed.outcome.stderr, "");
    }
}

#[test]
fn reduction() {
    check("reduction", &[], &[("tile[t] += tile[t + s];", "tile[t] += tile[t + s];")]);
}

#[test]
fn histogram() {
    check("histogram", &[], &[("bins[c - 'a']++;", "bins[c - 'a']++;")]);
}

#[test]
fn matmul() {
    let (left, right) = ("float left = a_tile[y][i];", "float right = b_tile[i][x];");
    check("matmul", &[], &[(left, "a_tile[y][x] ="), (right, "b_tile[y][x] =")]);
}

#[test]
fn bfs_over_the_karate_club() {
    let graph = workspace().join("examples/bfs/karate.mtx");
    let count = "next[(*next_size)++] = w;";
    let pairs = [("if (level[w] == -1) {", "level[w] = depth;"), (count, count)];
    check("bfs", &[graph.to_str().unwrap()], &pairs);
    // From vertex 17 the club is 5 levels deep: 1, 2, 3, 8, 8 and 12 members.
    let far = run("bfs", &["-O1", "-DFIXED"], &[graph.to_str().unwrap(), "17"]);
    assert!(
        far.outcome.stdout.contains("34 vertices, 6 levels from vertex 17: right"),
        "{}",
        far.outcome.stdout
    );
}

#[test]
fn bfs_refuses_what_is_no_graph() {
    let own = source("bfs");
    let refused = run("bfs", &["-O1"], &[own.to_str().unwrap()]);
    assert_eq!(refused.outcome.status, Some(2));
    assert!(refused.outcome.stderr.contains("not a square coordinate matrix"), "{}", refused.outcome.stderr);
}

#[test]
fn each_says_how_to_run_it() {
    for name in ["reduction", "histogram", "matmul", "bfs"] {
        let text = std::fs::read_to_string(source(name)).unwrap();
        let header: String = text.lines().take_while(|l| l.starts_with("//")).collect();
        for wanted in ["-fsanitize=gpurace", &format!("{name}.cu -o {name}"), &format!("./{name}"), "-DFIXED"]
        {
            assert!(header.contains(wanted), "the head of {name}.cu lacks `{wanted}`");
        }
    }
}
