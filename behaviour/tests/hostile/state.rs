//! Another user of the machine between us and our state.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::own_state::with_state_below;
use crate::common::{Folder, answer, assert_says, linerate};
use crate::hostile::own_things::refusal;

/// A user who means harm, and one whose files he wants to be gone.
const ATTACKER: u32 = 12_345;
const VICTIM: u32 = 12_346;

/// The machine's `/run`, an attacker's runtime folder, and what is dear to a victim.
struct Machine(Folder);

impl Machine {
    fn new(name: &str) -> Self {
        let folder = Folder::new(&format!("state-{name}"));
        for (below, mode) in [("run", 0o755), ("theirs", 0o700), ("tmp", 0o1777)] {
            fs::create_dir(folder.path().join(below)).unwrap();
            let mode = Permissions::from_mode(mode);
            fs::set_permissions(folder.path().join(below), mode).unwrap();
        }
        Self(folder)
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    /// The program, as root, with the runtime folder of the attacker.
    fn root(&self, arguments: &[&str]) -> Command {
        let mut command = with_state_below(linerate(&self.0, arguments), &self.path("run"));
        command.env("XDG_RUNTIME_DIR", self.path("theirs"));
        command.env("TMPDIR", self.path("tmp"));
        command
    }

    /// A folder with something in it that is dear to a user.
    fn dear(&self, below: &str, owner: u32) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("results.csv"), "a week's work").unwrap();
        own(&path, owner);
        path
    }
}

fn own(path: &Path, owner: u32) {
    chown(path, Some(owner), Some(owner)).unwrap();
}

/// Writes the entry of a service whose owner has ended and whose folder is `folder`.
fn plant(register: &Path, name: &str, folder: &Path) -> PathBuf {
    fs::create_dir_all(register).unwrap();
    let entry = serde_json::json!({
        "name": name, "title": "Planted", "version": "1", "pid": 1, "started_ticks": 1,
        "folder": folder, "address": null, "socket": null, "grace_ms": 0,
    });
    let path = register.join(format!("{name}.json"));
    fs::write(&path, entry.to_string()).unwrap();
    path
}

fn is_untouched(folder: &Path) -> bool {
    fs::read_to_string(folder.join("results.csv")).is_ok_and(|text| text == "a week's work")
}

#[test]
fn root_neither_reads_nor_writes_where_the_environment_of_another_user_leads() {
    crate::common::needs_root!();
    let machine = Machine::new("theirs");
    let name = "linerate-service-0123456789abcdef";
    let dear = machine.dear(&format!("tmp/{name}"), 0);
    let state = machine.path("theirs/linerate");
    let planted = [
        plant(&state.join("services"), "redis", &dear),
        plant(&state.join("study-services"), name, &dear),
    ];
    for folder in ["", "services", "study-services"] {
        own(&state.join(folder), ATTACKER);
    }
    own(&machine.path("theirs"), ATTACKER);
    answer(&mut machine.root(&["service", "list"]));
    assert!(is_untouched(&dear) && planted.iter().all(|entry| entry.exists()));
    let said = refusal(machine.root(&["service", "stop", "redis"]));
    assert_says(&said, "no service `redis` was started here");
    assert_eq!(
        machine.0.names("theirs/linerate"),
        ["services", "study-services"]
    );
    let made = fs::metadata(machine.path("run/linerate")).unwrap();
    assert_eq!((made.uid(), made.mode() & 0o7777), (0, 0o700));
}

#[test]
fn roots_state_that_somebody_else_made_or_may_write_to_is_refused() {
    crate::common::needs_root!();
    let machine = Machine::new("made");
    let state = machine.path("run/linerate");
    let refused = |what: &str| {
        let start = ["service", "start", "nginx", "--trust"];
        let stop = ["service", "stop", "nginx"];
        for words in [&start[..], &stop] {
            let said = refusal(machine.root(words));
            assert_says(&said, "/run/linerate: ");
            assert_says(&said, what);
        }
    };
    fs::create_dir(&state).unwrap();
    own(&state, ATTACKER);
    refused("it belongs to somebody else");
    own(&state, 0);
    fs::set_permissions(&state, Permissions::from_mode(0o777)).unwrap();
    refused("it belongs to somebody else");
    fs::remove_dir(&state).unwrap();
    let elsewhere = machine.dear("elsewhere", 0);
    symlink(&elsewhere, &state).unwrap();
    refused("it is no folder");
    assert_eq!(machine.0.names("elsewhere"), ["results.csv"]);
}

/// The register is as if an attacker had had access to it for a moment.
#[test]
fn an_entry_that_names_what_is_not_ours_has_nothing_deleted() {
    crate::common::needs_root!();
    let machine = Machine::new("planted");
    let name = "linerate-service-0123456789abcdef";
    let (of_root, service) = (machine.path("run/linerate"), "services");
    fs::create_dir(&of_root).unwrap();
    fs::set_permissions(&of_root, Permissions::from_mode(0o700)).unwrap();
    // A name that we do not give; a place where its owner can exchange what is there, and one where
    // everybody can; a link on the way to a folder of somebody else.
    let home = machine.dear("home", VICTIM);
    let below_home = machine.dear(&format!("home/{name}"), VICTIM);
    let shared = machine.dear(&format!("shared/{name}"), VICTIM);
    let everybody = Permissions::from_mode(0o777);
    fs::set_permissions(machine.path("shared"), everybody).unwrap();
    symlink(machine.path("home"), machine.path("tmp/way")).unwrap();
    let by_link = machine.path(&format!("tmp/way/{name}"));
    let up = machine.path(&format!("tmp/../home/{name}"));
    let of_roots = machine.dear("of-roots", 0);
    let all = [&home, &below_home, &shared, &by_link, &up, &of_roots];
    for (number, folder) in all.into_iter().enumerate() {
        plant(&of_root.join(service), &format!("planted-{number}"), folder);
    }
    answer(&mut machine.root(&["service", "list"]));
    let dear = [&home, &below_home, &shared, &of_roots];
    assert!(dear.iter().all(|folder| is_untouched(folder)));
    // The planted entries are forgotten.
    assert_eq!(machine.0.names("run/linerate/services"), [""; 0]);
}

/// A user may move a folder that everybody may write to into one of his own, and have us remove
/// that. Removed by root, it would be gone with all that others have in it.
#[test]
fn what_is_taken_away_for_a_user_is_what_he_could_have_taken_away_himself() {
    crate::common::needs_root!();
    let machine = Machine::new("moved");
    let name = "linerate-service-0123456789abcdef";
    let own_alone = machine.dear("tmp/linerate-service-fedcba9876543210", ATTACKER);
    let folder = machine.dear(&format!("tmp/{name}"), ATTACKER);
    let dear = machine.dear(&format!("tmp/{name}/shared/dear"), VICTIM);
    own(&machine.path(&format!("tmp/{name}/shared")), VICTIM);
    let state = machine.path("run/linerate");
    plant(&state.join("services"), "redis", &folder);
    plant(&state.join("services"), "nginx", &own_alone);
    fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();
    answer(&mut machine.root(&["service", "list"]));
    assert!(is_untouched(&dear));
    assert!(!own_alone.exists(), "what is all his own goes");
}

#[test]
fn a_user_is_not_led_into_the_runtime_folder_of_another() {
    crate::common::needs_root!();
    let machine = Machine::new("su");
    let theirs = machine.path("theirs");
    fs::set_permissions(&theirs, Permissions::from_mode(0o777)).unwrap();
    own(&theirs, ATTACKER);
    let mut command = linerate_as_nobody(&machine.0, &["service", "start", "nginx"]);
    command.env("XDG_RUNTIME_DIR", &theirs);
    let said = refusal(command);
    assert_says(&said, "others could replace what is ours");
    assert_eq!(machine.0.names("theirs"), [""; 0]);
}
