//! Live levers, set and undone in a network namespace of our own.
//!
//! A namespace can only be entered by a process without threads, and the test harness has them, so
//! this program is its own harness: it starts itself once for each test, as it is and as the user
//! `nobody`, and reports in the format of the harness.
#![expect(clippy::unwrap_used, reason = "a panic is the failure of a test")]
#![expect(clippy::print_stdout, reason = "a test harness prints")]

mod packet_filter;

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

use machine::planted::{self, Held, SetLever, Wanted};
use model::Binds;
use model::finding::Severity;
use packet_filter::{
    a_ruleset_is_copied_whole_and_drops_nothing, a_set_is_one_rule_however_many_addresses_it_has,
    a_table_that_is_there_already_is_refused_and_left_alone,
    connections_are_tracked_until_it_is_undone, rules_hold_until_they_are_undone,
    tcp_that_is_exempt_is_not_tracked,
};

const NOBODY: u32 = 65_534;

/// Pairs each test function with its name.
macro_rules! tests {
    ($($test:ident),+ $(,)?) => {
        [$((stringify!($test), $test)),+]
    };
}

const TESTS: [(&str, fn()); 19] = tests![
    a_set_is_one_rule_however_many_addresses_it_has,
    tcp_that_is_exempt_is_not_tracked,
    a_ruleset_is_copied_whole_and_drops_nothing,
    rules_hold_until_they_are_undone,
    connections_are_tracked_until_it_is_undone,
    taps_are_listed_until_they_are_undone,
    a_token_bucket_is_at_the_root_of_the_device_until_it_is_undone,
    dropping_a_live_lever_undoes_it,
    a_table_that_is_there_already_is_refused_and_left_alone,
    a_lever_that_was_undone_behind_our_back_does_not_verify,
    every_lever_can_be_used_in_a_namespace_of_our_own,
    what_levers_set_is_found_by_the_checks,
    sockets_of_the_machine_are_seen_from_inside,
    a_lever_of_the_machine_holds_in_our_namespace_until_it_is_undone,
    a_lever_of_the_machine_that_somebody_else_has_set_since_is_left_alone_and_told,
    a_lever_that_reaches_the_machine_needs_its_owners_word,
    what_only_the_namespace_of_the_machine_has_is_seen_from_ours_by_root,
    a_packet_program_is_on_our_device_until_it_is_undone_or_refused_by_name,
    levers_of_devices_see_those_of_our_namespace_alone,
];

/// A listener that was opened before the namespace was entered.
static OUTSIDE: OnceLock<TcpListener> = OnceLock::new();

fn taps_are_listed_until_they_are_undone() {
    let listed = || {
        fs::read_to_string("/proc/net/packet")
            .unwrap()
            .lines()
            .count()
            - 1
    };
    let held = hold("packet-tap", Some("20"));
    held.verify().unwrap();
    assert_eq!(listed(), 20);
    held.undo().unwrap();
    assert_eq!(listed(), 0);
}

fn a_token_bucket_is_at_the_root_of_the_device_until_it_is_undone() {
    let before = root_qdisc();
    let held = hold("token-bucket", None);
    held.verify().unwrap();
    assert!(root_qdisc().contains("tbf"), "{}", root_qdisc());
    held.undo().unwrap();
    assert_eq!(root_qdisc(), before);
    drop(hold("token-bucket", None));
    assert_eq!(root_qdisc(), before);
}

/// The root qdisc of loopback, the only device of our namespace, as tc(8) shows it.
fn root_qdisc() -> String {
    let mut tc = Command::new("tc");
    let shown = tc.args(["qdisc", "show", "dev", "lo", "root"]).output();
    String::from_utf8(shown.unwrap().stdout).unwrap()
}

fn dropping_a_live_lever_undoes_it() {
    let rules = hold("nft-rules", None);
    let conntrack = hold("conntrack", None);
    assert_eq!(machine::nftables::rules().unwrap().len(), 101);
    drop(rules);
    drop(conntrack);
    assert_eq!(machine::nftables::rules().unwrap(), []);
}

fn a_lever_that_was_undone_behind_our_back_does_not_verify() {
    let proof = machine::namespace::ours().unwrap();
    let held = hold("nft-rules", Some("2"));
    machine::nftables::Ruleset::here()
        .unwrap()
        .unload(proof)
        .unwrap();
    assert!(held.verify().is_err());
    drop(held);
    let held = hold("conntrack", None);
    machine::nftables::Ruleset::here()
        .unwrap()
        .unload(proof)
        .unwrap();
    let said = held.verify().unwrap_err().to_string();
    assert!(said.contains("did not take effect"), "{said}");
    assert!(held.undo().is_err());
}

fn every_lever_can_be_used_in_a_namespace_of_our_own() {
    // The machine that tests run on need not have rules.
    let everywhere = |lever: &&'static dyn planted::Planted| lever.name() != "machine-rules";
    for lever in planted::all().filter(everywhere) {
        assert_eq!(
            lever.unavailable(Wanted::default()),
            None,
            "{}",
            lever.name()
        );
    }
    let live = planted::all().filter(|lever| lever.binds() == Binds::Live);
    assert_eq!(live.count(), 8);
}

fn what_levers_set_is_found_by_the_checks() {
    let _tap = hold("packet-tap", None);
    let _rules = hold("nft-rules", Some("4"));
    let _conntrack = hold("conntrack", None);
    let findings = machine::findings::look(None);
    let found = |name: &str| {
        findings
            .iter()
            .find(|finding| finding.name == name)
            .unwrap()
    };
    assert!(
        found("packet-taps")
            .evidence
            .contains(&format!("(pid {})", std::process::id()))
    );
    assert_eq!(found("firewall-rules").what, "Packets pass 5 nft rules.");
    assert_eq!(found("connection-tracking").severity, Severity::Notice);
}

fn sockets_of_the_machine_are_seen_from_inside() {
    let port = OUTSIDE.get().unwrap().local_addr().unwrap().port();
    let listed = |lists: String| lists.contains(&format!(":{port:04X} 00000000:0000 0A"));
    assert!(listed(
        machine::namespace::tcp_lists_of_the_machine().unwrap()
    ));
    assert!(listed(
        machine::namespace::tcp_lists_of_the_machine().unwrap()
    ));
    assert!(!listed(fs::read_to_string("/proc/self/net/tcp").unwrap()));
}

fn a_lever_of_the_machine_holds_in_our_namespace_until_it_is_undone() {
    let before = corking();
    let held = hold(
        "tcp-autocorking",
        Some(if before == "1" { "0" } else { "1" }),
    );
    assert_ne!(corking(), before);
    held.verify().unwrap();
    held.undo().unwrap();
    assert_eq!(corking(), before);
    drop(hold("tcp-autocorking", Some("0")));
    assert_eq!(corking(), before);
}

fn a_lever_of_the_machine_that_somebody_else_has_set_since_is_left_alone_and_told() {
    let before = fs::read_to_string(LOWAT).unwrap();
    let held = hold("notsent-lowat", Some("131072"));
    fs::write(LOWAT, "16384").unwrap();
    let changed = held.verify().unwrap_err().to_string();
    assert!(changed.contains("holds `16384`"), "{changed}");
    let told = held.undo().unwrap_err().to_string();
    assert!(told.contains("somebody else has set it since"), "{told}");
    assert_eq!(fs::read_to_string(LOWAT).unwrap().trim(), "16384");
    fs::write(LOWAT, before).unwrap();
}

/// A packet program needs root of the machine; without it, a user in our namespace is refused with
/// that reason.
fn a_packet_program_is_on_our_device_until_it_is_undone_or_refused_by_name() {
    let shown = || {
        let shown = Command::new("ip").args(["link", "show", "lo"]).output();
        String::from_utf8(shown.unwrap().stdout).unwrap()
    };
    let lever = planted::find("packet-programs").unwrap();
    assert_eq!(lever.binds(), Binds::Live);
    let generic = wanted(Some("generic:lo"));
    match lever.set(generic) {
        Ok(SetLever::Held(held)) => {
            held.verify().unwrap();
            assert!(shown().contains(" xdpgeneric "), "{}", shown());
            let said = lever.unavailable(generic).unwrap();
            assert!(said.contains("lo runs program"), "{said}");
            held.undo().unwrap();
        }
        Ok(_) => panic!("it is nobody's at his start"),
        Err(refused) => {
            let said = refused.to_string();
            assert!(!is_root_of_the_machine(), "{said}");
            assert!(said.contains("(EPERM); it takes root"), "{said}");
            assert_eq!(lever.unavailable(generic), Some(said));
        }
    }
    assert!(!shown().contains("xdp"), "{}", shown());
}

fn a_lever_that_reaches_the_machine_needs_its_owners_word() {
    let lever = planted::find("swappiness").unwrap();
    let refused = lever.set(wanted(Some("1"))).err().unwrap().to_string();
    assert!(refused.contains("reaches further"), "{refused}");
    assert!(
        lever
            .unavailable(wanted(Some("1")))
            .unwrap()
            .contains("`--host`")
    );
}

fn what_only_the_namespace_of_the_machine_has_is_seen_from_ours_by_root() {
    let lever = planted::find("receive-backlog").unwrap();
    let wanted = Wanted {
        value: Some("1001"),
        leave: model::lever::Leave {
            on_host: true,
            ..model::lever::Leave::default()
        },
        ..Wanted::default()
    };
    let unavailable = lever.unavailable(wanted);
    if is_root_of_the_machine() {
        assert_eq!(unavailable, None);
    } else {
        let why = unavailable.unwrap();
        assert!(
            why.contains("EPERM") || why.contains("not permitted"),
            "{why}"
        );
    }
    let here = fs::metadata("/proc/sys/net/core/netdev_max_backlog");
    assert!(
        here.is_err(),
        "it is in every namespace, so this proves nothing"
    );
}

fn is_root_of_the_machine() -> bool {
    // A user namespace of one's own maps one user.
    let users = fs::read_to_string("/proc/self/uid_map").unwrap();
    users.contains("4294967295")
}

fn levers_of_devices_see_those_of_our_namespace_alone() {
    let shown = fs::read_dir("/sys/class/net").unwrap();
    let shown: Vec<_> = shown.map(|entry| entry.unwrap().file_name()).collect();
    // Two lines of headings; then a line for each device, whose name ends at the colon.
    let text = fs::read_to_string("/proc/self/net/dev").unwrap();
    let ours = text.lines().skip(2).filter_map(|line| line.split_once(':'));
    let ours: Vec<&str> = ours.map(|(name, _)| name.trim()).collect();
    assert!(
        shown
            .iter()
            .all(|name| ours.contains(&name.to_str().unwrap())),
        "{shown:?}"
    );
    assert_eq!(shown.len(), ours.len());
}

const LOWAT: &str = "/proc/sys/net/ipv4/tcp_notsent_lowat";

fn corking() -> String {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_autocorking").unwrap();
    text.trim().to_owned()
}

fn wanted(value: Option<&str>) -> Wanted<'_> {
    Wanted {
        value,
        ..Wanted::default()
    }
}

fn hold(name: &str, value: Option<&str>) -> Box<dyn Held + Send> {
    let lever = planted::find(name).unwrap();
    match lever.set(wanted(value)).unwrap() {
        SetLever::Held(held) => held,
        SetLever::Child(_) | SetLever::ServeArgument(_) => panic!("{name} does not bind live"),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().collect();
    if let [_, flag, name] = &arguments[..]
        && flag == "--inside"
    {
        return run_inside(name);
    }
    run_all(arguments.get(1).map(String::as_str))
}

/// Runs one test in a namespace of its own; a panic is its failure.
fn run_inside(name: &str) -> ExitCode {
    OUTSIDE.get_or_init(|| TcpListener::bind("127.0.0.1:0").unwrap());
    machine::namespace::enter().expect("user namespaces are allowed where the tests run");
    let (_, test) = TESTS
        .iter()
        .find(|(known, _)| *known == name)
        .expect("the parent names a test");
    test();
    ExitCode::SUCCESS
}

fn run_all(filter: Option<&str>) -> ExitCode {
    let nobodys = copy_that_nobody_can_run();
    let own = std::env::current_exe().unwrap();
    let (mut passed, mut failed) = (0, 0);
    let chosen = |name: &str| filter.is_none_or(|filter| name.contains(filter));
    for (name, _) in TESTS.iter().filter(|(name, _)| chosen(name)) {
        for (program, user) in [(Some(&own), None), (nobodys.as_ref(), Some(NOBODY))] {
            let Some(program) = program else { continue };
            let as_whom = user.map_or("", |_| " as nobody");
            let good = start(program, name, user);
            println!(
                "test {name}{as_whom} ... {}",
                if good { "ok" } else { "FAILED" }
            );
            *(if good { &mut passed } else { &mut failed }) += 1;
        }
    }
    if let Some(copy) = nobodys {
        let _ = fs::remove_dir_all(copy.parent().expect("the copy is in a folder of its own"));
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored");
    ExitCode::from(u8::from(failed > 0))
}

fn start(program: &Path, name: &str, user: Option<u32>) -> bool {
    let mut command = Command::new(program);
    command.args([OsStr::new("--inside"), OsStr::new(name)]);
    if let Some(user) = user {
        command.uid(user).gid(user).current_dir("/");
    }
    command.status().is_ok_and(|status| status.success())
}

/// Copies this program out of the build folder, which `nobody` may be unable to enter. `None`
/// unless this is root, since only root can become `nobody`; other users run every test without
/// privilege anyhow.
fn copy_that_nobody_can_run() -> Option<PathBuf> {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return None;
    }
    let folder = std::env::temp_dir().join(format!("linerate-levers-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let copy = folder.join("planted_in_private");
    fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    Some(copy)
}
