//! Tests what each string means, or which error it gives.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use select::ObjectDescription;

fn parsed(text: &str) -> Options {
    Options::parse(text).unwrap_or_else(|error| panic!("`{text}`: {error}"))
}

fn refused(text: &str) -> String {
    match Options::parse(text) {
        Ok(options) => panic!("`{text}` was taken: {options:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_empty_string_gives_the_defaults() {
    for text in ["", ":", " ", "::: :"] {
        assert_eq!(parsed(text), Options::default(), "`{text}`");
    }
}

#[test]
fn defaults_are_those_of_the_interface() {
    let options = Options::default();
    assert_eq!(options.device, Device::Auto);
    assert_eq!(options.exitcode, 66);
    assert_eq!((options.halt_on_error, options.progress), (HaltOnError::No, Progress::Auto));
    assert!(!options.stats && !options.help);
    assert_eq!(options.max_reports, 100);
    assert_eq!(options.log_path, LogPath::Stderr);
    assert_eq!(options.same_value, Lesser::Report);
    assert_eq!(options.solve_budget, Duration::from_secs(1));
    assert_eq!(options.cache_dir, CacheDir::User);
    assert_eq!(options.every.get(), 1);
    assert_eq!(options.seed, 0);
    assert_eq!((&options.json, &options.suppressions), (&None, &None));
    assert!(options.checks_kernel("anything(int)") && options.checks_block(u64::MAX));
}

/// A default that a user can type has the same meaning as no option.
#[test]
fn shown_defaults_are_the_defaults() {
    let in_words = ["json", "suppressions", "kernels", "skip_kernels", "objects", "blocks", "cache_dir"];
    for option in ALL {
        if in_words.contains(&option.key) {
            assert!(["none", "all", "user cache"].contains(&option.default), "{option:?}");
        } else {
            let text = format!("{}={}", option.key, option.default);
            assert_eq!(parsed(&text), Options::default(), "{text}");
        }
    }
}

#[test]
fn keys_are_those_of_the_interface_in_its_order() {
    let keys: Vec<_> = ALL.iter().map(|option| option.key).collect();
    assert_eq!(
        keys.join(" "),
        "device exitcode halt_on_error max_reports explore volatile log_path json suppressions kernels \
         skip_kernels objects blocks same_value skipped_barrier solve_budget cache_dir every seed stats progress help"
    );
}

#[test]
fn each_type_of_value_is_read() {
    let o = parsed("device=cpu:exitcode=0:halt_on_error=yes:max_reports=3:stats=true:help=1");
    assert_eq!((o.device, o.exitcode, o.max_reports), (Device::Cpu, 0, 3));
    assert_eq!(o.halt_on_error, HaltOnError::End);
    assert!(o.stats && o.help);

    let o = parsed("device=cuda:halt_on_error=false:same_value=ignore:every=7:seed=0xdeadbeef");
    assert_eq!((o.device, o.same_value), (Device::Cuda, Lesser::Ignore));
    assert_eq!((o.every.get(), o.seed), (7, 0xdead_beef));

    assert_eq!(parsed("solve_budget=0.25").solve_budget, Duration::from_millis(250));
    assert_eq!(parsed("solve_budget=0").solve_budget, Duration::ZERO);
    assert_eq!(parsed("seed=18446744073709551615").seed, u64::MAX);
    assert_eq!(parsed("exitcode=255").exitcode, 255);
    assert_eq!(parsed("suppressions=a b.txt").suppressions.as_deref(), Some(Path::new("a b.txt")));
    assert_eq!(parsed("cache_dir=").cache_dir, CacheDir::Nowhere);
    assert_eq!(parsed("cache_dir=''").cache_dir, CacheDir::Nowhere);
    assert_eq!(parsed("cache_dir=/c").cache_dir, CacheDir::Directory("/c".into()));
}

#[test]
fn a_later_item_overrides_an_earlier_one() {
    assert_eq!(parsed("exitcode=1:exitcode=2").exitcode, 2);
    assert_eq!(parsed("json=a:json=").json, None);
}

#[test]
fn white_space_around_items_is_nothing() {
    let o = parsed(" exitcode = 3 : stats=1 :\n seed=4 ");
    assert_eq!((o.exitcode, o.stats, o.seed), (3, true, 4));
}

#[test]
fn quotes_keep_a_value_together() {
    let path = |text| parsed(text).json.map(|path| path.as_str().to_owned());
    assert_eq!(path("json='a:exitcode=1':exitcode=2").as_deref(), Some("a:exitcode=1"));
    assert_eq!(path("json=\"it's:seed=1\"").as_deref(), Some("it's:seed=1"));
    assert_eq!(path("json='\"'").as_deref(), Some("\""));
    assert_eq!(path("json='é': stats=1").as_deref(), Some("é"));
    assert_eq!(parsed("exitcode='7'").exitcode, 7);
}

#[test]
fn a_colon_that_no_key_follows_belongs_to_a_path_or_list() {
    let o = parsed("json=C:/r.json:log_path=a:b::blocks=every:8:seed=5");
    assert_eq!(o.json.as_ref().map(PathPattern::as_str), Some("C:/r.json"));
    assert_eq!(o.log_path, LogPath::File(PathPattern::parse("a:b").unwrap()));
    assert!(o.checks_block(16) && !o.checks_block(4));
    assert_eq!(o.seed, 5);
    assert!(parsed("kernels=ns::k*").checks_kernel("ns::kernel(int)"));
    assert_eq!(parsed("json=r.json:").json.as_ref().map(PathPattern::as_str), Some("r.json"));
}

#[test]
fn percent_p_is_the_process_id() {
    for (pattern, path) in [
        ("r.json", "r.json"),
        ("r-%p.json", "r-4242.json"),
        ("%p/%p", "4242/4242"),
        ("100%%p", "100%p"),
        ("a%b%", "a%b%"),
        ("é%pé", "é4242é"),
    ] {
        let json = parsed(&format!("json={pattern}")).json;
        assert_eq!(json.map(|json| json.expand(4242)).as_deref(), Some(Path::new(path)));
    }
}

#[test]
fn errors_name_what_was_found_and_what_was_wanted() {
    for (text, message) in [
        ("exitcode=abc", "`exitcode=abc`: found `abc`, wanted a whole number from 0 to 255"),
        ("exitcode=256", "`exitcode=256`: found `256`, wanted a whole number from 0 to 255"),
        ("exitcode=-1", "`exitcode=-1`: found `-1`, wanted a whole number from 0 to 255"),
        ("exitcode=+1", "`exitcode=+1`: found `+1`, wanted a whole number from 0 to 255"),
        ("exitcode=", "`exitcode=`: found ``, wanted a whole number from 0 to 255"),
        ("device=gpu", "`device=gpu`: found `gpu`, wanted `auto`, `cpu` or `cuda`"),
        ("help=2", "`help=2`: found `2`, wanted `0` or `1`"),
        ("every=0", "`every=0`: found `0`, wanted a whole number from 1 to 4294967295"),
        ("volatile=ignore", "`volatile=ignore`: found `ignore`, wanted `report` or `relaxed`"),
        ("same_value=drop", "`same_value=drop`: found `drop`, wanted `report` or `ignore`"),
        ("skipped_barrier=0", "`skipped_barrier=0`: found `0`, wanted `report` or `ignore`"),
        ("solve_budget=-1", "`solve_budget=-1`: found `-1`, wanted a number of seconds, 0 or more"),
        ("solve_budget=nan", "`solve_budget=nan`: found `nan`, wanted a number of seconds, 0 or more"),
        ("solve_budget=inf", "`solve_budget=inf`: found `inf`, wanted a number of seconds, 0 or more"),
        ("log_path=", "`log_path=`: found ``, wanted `stderr` or a path"),
        (
            "blocks=0,x",
            "`blocks=0,x`: found `x`, wanted comma-separated blocks like `0`, `0-15` or `every:8`",
        ),
        ("blocks=9-3", "`blocks=9-3`: found `9-3`, wanted a range whose first block is not after its last"),
        ("blocks=every:0", "`blocks=every:0`: found `every:0`, wanted `every:` and a whole number from 1 up"),
        ("kernels=[z", "`kernels=[z`: found `[z`, wanted comma-separated globs on kernel names"),
        ("kernels=a,,b", "`kernels=a,,b`: found `a,,b`, wanted comma-separated globs on kernel names"),
        (
            "objects=tile,#0",
            "`objects=tile,#0`: found `#0`, wanted comma-separated variables, sizes like `4096` or \
             `64K`, orders of allocation like `#2`, `shared` or `global`",
        ),
        ("stats", "found `stats`, wanted `key=value`"),
        ("exitcode=1:on", "found `on`, wanted `key=value`"),
        ("json='a", "`json='a`: found the end of the string, wanted a closing `'`"),
        (
            "json='a'b:seed=1",
            "`json='a'`: found `b` after the closing quote, wanted `:` or the end of the string",
        ),
    ] {
        assert_eq!(refused(text), format!("GPURACE_OPTIONS: {message}"));
    }
}

#[test]
fn an_unknown_key_is_told_the_nearest_known_one() {
    for (found, nearest) in [
        ("exit_code", "exitcode"),
        ("EXITCODE", "exitcode"),
        ("hatl_on_error", "halt_on_error"),
        ("abort_on_error", "halt_on_error"),
        ("skipkernels", "skip_kernels"),
        ("kernel", "kernels"),
        ("logpath", "log_path"),
        ("max_report", "max_reports"),
        ("block", "blocks"),
        ("jsn", "json"),
        ("budget", "solve_budget"),
        ("sed", "seed"),
    ] {
        assert_eq!(
            refused(&format!("{found}=1")),
            format!("GPURACE_OPTIONS: unknown option `{found}`; did you mean `{nearest}`?")
        );
    }
    let error = Options::parse("=1").unwrap_err();
    assert!(matches!(&error, OptionsError::UnknownKey { key, .. } if key.is_empty()));
    assert!(error.hint().contains("help=1"));
}

#[test]
fn blocks_are_chosen_by_number_range_and_step() {
    for (blocks, chosen) in [
        ("0", vec![0]),
        ("3,5", vec![3, 5]),
        ("2-4", vec![2, 3, 4]),
        ("every:4", vec![0, 4, 8]),
        ("every:1", (0..10).collect()),
        ("1, every:5 ,7-7", vec![0, 1, 5, 7]),
    ] {
        let options = parsed(&format!("blocks={blocks}"));
        let got: Vec<u64> = (0..10).filter(|&block| options.checks_block(block)).collect();
        assert_eq!(got, chosen, "{blocks}");
    }
    assert!(parsed("blocks=0-18446744073709551615").checks_block(u64::MAX));
}

#[test]
fn kernels_are_chosen_by_any_form_of_their_name() {
    let template = "void ns::reduce<float, (Op)1>(float const*, float*)";
    let anonymous = "(anonymous namespace)::scan(int*)";
    for (globs, name, chosen) in [
        ("reduce", "reduce(float const*, float*)", true),
        ("reduce(float const*, float*)", "reduce(float const*, float*)", true),
        ("red*", "reduce(float const*, float*)", true),
        ("red", "reduce(float const*, float*)", false),
        ("scan,reduce", "reduce(int)", true),
        ("f(int, int),g", "g()", true),
        ("f(int, int),g", "f(int, int)", true),
        ("f<*,g", "g()", true),
        ("{f,g}", "g()", true),
        ("ns::reduce", template, true),
        ("ns::reduce<float,*", template, true),
        ("reduce", template, false),
        ("*::reduce", template, true),
        ("void*", template, true),
        ("(anonymous namespace)::scan", anonymous, true),
        ("*scan", anonymous, true),
        ("*scan", "(anonymous namespace)::scan", true),
        ("apply", "apply(void (*)(int), int)", true),
        ("k", "k(int) [clone .1]", true),
        ("extern_c", "extern_c", true),
    ] {
        let options = parsed(&format!("kernels='{globs}'"));
        assert_eq!(options.checks_kernel(name), chosen, "`{globs}` on `{name}`");
        let options = parsed(&format!("skip_kernels='{globs}'"));
        assert_eq!(options.checks_kernel(name), !chosen, "skip `{globs}` on `{name}`");
    }
    let both = parsed("kernels=re*:skip_kernels=reset");
    assert!(both.checks_kernel("reduce()") && !both.checks_kernel("reset()"));
}

#[test]
fn objects_are_chosen_by_name_size_order_and_space() {
    let tile = ObjectDescription { shared: true, name: Some("ns::tile"), size: 1024, order: None };
    let flag = ObjectDescription { shared: false, name: Some("flag"), size: 4, order: None };
    let second = ObjectDescription { shared: false, name: None, size: 65536, order: Some(2) };
    for (objects, chosen) in [
        ("shared", [true, false, false]),
        ("global", [false, true, true]),
        ("tile", [true, false, false]),
        ("ns::tile,flag", [true, true, false]),
        ("til", [false, false, false]),
        ("64K", [false, false, true]),
        ("65536", [false, false, true]),
        ("1024,4", [false, false, false]),
        ("#2", [false, false, true]),
        ("#1", [false, false, false]),
        ("#2, shared", [true, false, true]),
    ] {
        let options = parsed(&format!("objects={objects}"));
        let got = [tile, flag, second].map(|object| options.checks_object(&object));
        assert_eq!(got, chosen, "{objects}");
    }
    assert!(Options::parse("objects=20000000000G").is_err());
}

#[test]
fn help_and_table_hold_every_option_once() {
    let (help, table) = (help_text(), markdown_table());
    for option in ALL {
        assert_eq!(help.matches(&format!("\n  {}\n", option.key)).count(), 1, "{}", option.key);
        assert_eq!(table.matches(&format!("\n| `{}` |", option.key)).count(), 1, "{}", option.key);
        assert!(!option.doc.is_empty() && help.contains(option.doc));
    }
    assert_eq!(table.lines().count(), ALL.len() + 2);
    assert!(table.contains(
        "\n| `exitcode` | exit status when a race, a divergence or a fault was reported and the program's own status was 0 | `66` |\n"
    ));
    assert!(table.lines().last().unwrap().ends_with("| `0` |"));
}

#[test]
fn some_options_change_while_the_program_runs() {
    let old = parsed("seed=3:kernels=a*:device=cpu");
    let new = old.changed("every=4:kernels=ns::*").unwrap();
    assert_eq!((new.seed, new.every.get(), new.device), (3, 4, Device::Cpu));
    assert!(new.checks_kernel("ns::k") && !new.checks_kernel("a1"));
    let error = |text| old.changed(text).unwrap_err().to_string();
    assert_eq!(
        error("device=cpu"),
        "`device` cannot change while the program runs: set it in GPURACE_OPTIONS"
    );
    assert!(error("sed=1").contains("did you mean `seed`"));
    assert!(CHANGEABLE.iter().all(|key| ALL.iter().any(|option| option.key == *key)));
}

proptest! {
    #[test]
    fn no_string_panics(text in "\\PC*") {
        let _ = Options::parse(&text).map_err(|error| error.to_string());
    }

    /// Strings of the parser's own words reach more of its code than others.
    #[test]
    fn no_string_of_fragments_panics(
        fragments in prop::collection::vec(
            prop::sample::select(vec![
                "kernels", "blocks", "objects", "json", "seed", "every:", "=", ":", "::", "'", "\"", ",",
                "(", ")", "<", ">", "[", "]", "{", "}", "*", "\\", "-", "#", "0", "64K", "%p", " ", "é",
            ]),
            0..24,
        ),
        name in "[a-z(<):> ,é]*",
    ) {
        if let Ok(options) = Options::parse(&fragments.concat()) {
            let _ = options.checks_kernel(&name);
            let _ = options.checks_block(7);
            let _ = options.json.map(|json| json.expand(1));
        }
    }

    /// A value survives quotes that it does not contain.
    #[test]
    fn quoting_keeps_any_text(text in "[^'\0]+") {
        let json = Options::parse(&format!("seed=1:json='{text}':seed=2")).unwrap();
        prop_assert_eq!(json.json.as_ref().map(PathPattern::as_str), Some(text.as_str()));
        prop_assert_eq!(json.seed, 2);
    }
}
