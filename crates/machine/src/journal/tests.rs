//! The journal, in a folder that each test has for itself.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use model::Topology;

use super::*;
use crate::rig::HeldHost;

/// A state folder that is removed when the test ends.
struct State(PathBuf);

impl State {
    fn new(test: &str) -> Self {
        let name = format!("linerate-journal-{}-{test}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn folder(&self) -> PathBuf {
        self.0.join("state/linerate")
    }

    fn open(&self) -> Result<Journal, JournalError> {
        Journal::open_in(self.folder())
    }

    fn read(&self) -> Vec<Entry> {
        read_in(&self.folder()).unwrap().entries
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn rig(name: &str) -> Change {
    Change::Rig(RigChange {
        name: name.parse().unwrap(),
        topology: Topology::Netns,
        hosts: vec![HeldHost {
            name: "client".to_owned(),
            address: Some([198, 18, 0, 1].into()),
            namespace: 4_026_532_177,
            cookie: Some(18),
            descriptor: 3,
        }],
        uts_namespace: 4_026_532_178,
    })
}

fn this_process() -> Owner {
    Owner::this_process().unwrap()
}

#[test]
fn an_entry_is_on_the_disk_before_its_change_and_gone_after_its_undo() {
    let state = State::new("disk");
    assert_eq!(state.read(), []);
    let mut journal = state.open().unwrap();
    let one = journal.add(this_process(), rig("one")).unwrap();
    let two = journal.add(this_process(), rig("two")).unwrap();
    assert_eq!(state.read(), journal.entries());
    let entry = &state.read()[0];
    assert_eq!(entry.boot_id, boot_id().unwrap());
    let here = sys::namespace::current_network_inode().unwrap();
    assert_eq!(entry.namespace, here);
    journal.amend(two, &rig("three")).unwrap();
    journal.remove(one).unwrap();
    let left = state.read();
    assert_eq!((left.len(), &left[0].change), (1, &rig("three")));
    journal.remove(two).unwrap();
    assert_eq!(state.read(), []);
}

#[test]
fn a_journal_cut_at_any_byte_still_gives_every_entry_before_the_cut() {
    let state = State::new("cut");
    let mut journal = state.open().unwrap();
    for name in ["one", "two", "three"] {
        journal.add(this_process(), rig(name)).unwrap();
    }
    let all = state.read();
    drop(journal);
    let file = state.folder().join(FILE);
    let bytes = fs::read(&file).unwrap();
    for cut in 0..=bytes.len() {
        fs::write(&file, &bytes[..cut]).unwrap();
        let lines = bytes[..cut].split_inclusive(|byte| *byte == b'\n');
        let whole = lines.filter(|line| line.ends_with(b"\n")).count();
        assert_eq!(state.read(), all[..whole], "cut at {cut}");
    }
    // The next write removes the torn end.
    fs::write(&file, &bytes[..bytes.len() - 5]).unwrap();
    let mut journal = state.open().unwrap();
    journal.add(this_process(), rig("four")).unwrap();
    let names = state.read().into_iter().map(|entry| entry.change);
    let names: Vec<Change> = names.collect();
    assert_eq!(names, [rig("one"), rig("two"), rig("four")]);
}

/// Writes a journal of two entries with an unknown line between them, which is the first entry with
/// `from` replaced by `to`. Returns that line.
fn with_an_unknown_line_between(state: &State, from: &str, to: &str) -> String {
    let mut journal = state.open().unwrap();
    journal.add(this_process(), rig("one")).unwrap();
    let file = state.folder().join(FILE);
    let strange = fs::read_to_string(&file).unwrap().replace(from, to);
    journal.add(this_process(), rig("two")).unwrap();
    drop(journal);
    let text = fs::read_to_string(&file).unwrap();
    let (one, two) = text.split_once('\n').unwrap();
    fs::write(&file, format!("{one}\n{strange}{two}")).unwrap();
    strange
}

#[test]
fn a_line_of_an_unknown_kind_is_named_by_its_number_and_kept_in_its_place() {
    let state = State::new("unknown");
    let strange = with_an_unknown_line_between(&state, "\"rig\":", "\"moon\":");
    let mut journal = state.open().unwrap();
    let said = journal.unknown()[0].to_string();
    assert!(said.contains("journal.jsonl:2: "), "{said}");
    assert!(said.contains("moon"), "{said}");
    let three = journal.add(this_process(), rig("three")).unwrap();
    assert_eq!(three, 3);
    let file = state.folder().join(FILE);
    let second = || {
        fs::read_to_string(&file)
            .unwrap()
            .lines()
            .nth(1)
            .unwrap()
            .to_owned()
            + "\n"
    };
    assert_eq!(second(), strange);
    journal.remove(2).unwrap();
    assert_eq!(second(), strange);
    assert_eq!(state.read(), journal.entries());
    // The entry before the unknown line may be removed, and the line stays.
    journal.remove(1).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with(&strange), "{text}");
}

#[test]
fn unknown_lines_stay_behind_their_entry_in_a_journal_of_any_length() {
    let state = State::new("long");
    let mut journal = state.open().unwrap();
    for _ in 0..30 {
        journal.add(this_process(), rig("one")).unwrap();
    }
    drop(journal);
    let file = state.folder().join(FILE);
    let known = fs::read_to_string(&file).unwrap();
    let with_two_more = |line: &str| format!("{line}\n{{\"first\":1}}\n{{\"second\":2}}\n");
    let text: String = known.lines().map(with_two_more).collect();
    fs::write(&file, &text).unwrap();
    let mut journal = state.open().unwrap();
    journal.add(this_process(), rig("last")).unwrap();
    let now = fs::read_to_string(&file).unwrap();
    assert!(now.starts_with(&text), "{now}");
}

#[test]
fn an_unknown_line_keeps_its_number_from_being_given_to_another() {
    let state = State::new("number");
    with_an_unknown_line_between(&state, "{\"id\":1,", "{\"moon\":1,\"id\":7,");
    let mut journal = state.open().unwrap();
    assert_eq!(journal.add(this_process(), rig("three")).unwrap(), 8);
}

#[test]
fn a_folder_that_others_may_enter_or_that_is_a_link_is_refused() {
    let state = State::new("folder");
    drop(state.open().unwrap());
    fs::set_permissions(state.folder(), Permissions::from_mode(0o755)).unwrap();
    let error = state.open().unwrap_err().to_string();
    assert!(error.contains("has mode 755 and not 700"), "{error}");
    assert!(read_in(&state.folder()).is_err());
    fs::set_permissions(state.folder(), Permissions::from_mode(0o700)).unwrap();
    drop(state.open().unwrap());
    let moved = state.0.join("moved");
    fs::rename(state.folder(), &moved).unwrap();
    std::os::unix::fs::symlink(&moved, state.folder()).unwrap();
    let error = state.open().unwrap_err().to_string();
    assert!(error.contains("is no folder"), "{error}");
}

#[test]
fn a_journal_in_use_is_refused_with_the_number_of_the_process_that_has_it() {
    let state = State::new("lock");
    let journal = state.open().unwrap();
    let error = Lock::take_within(&state.folder(), Duration::ZERO).unwrap_err();
    let wanted = format!("in use by process {};", std::process::id());
    assert!(error.to_string().contains(&wanted), "{error}");
    drop(journal);
    drop(state.open().unwrap());
}

#[test]
fn a_journal_that_cannot_be_written_keeps_what_it_had() {
    let state = State::new("unwritable");
    let mut journal = state.open().unwrap();
    journal.add(this_process(), rig("one")).unwrap();
    // A folder stands where the next journal is to be written.
    fs::create_dir(state.folder().join(NEXT)).unwrap();
    let error = journal.add(this_process(), rig("two")).unwrap_err();
    assert!(error.to_string().contains("journal.next"), "{error}");
    assert_eq!((journal.entries().len(), state.read().len()), (1, 1));
}
