//! The command line of `cargo xtask vm`, taken apart.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use super::guest::{self, Guest};
use super::initramfs::Errand;
use super::machine::Cut;

const USUAL_LIMIT: Duration = Duration::from_secs(120);

/// What is to be done with a guest.
#[derive(Debug)]
pub(crate) struct GuestOrder {
    pub(crate) guest: &'static Guest,
    /// What a boot before the last does, and when its power is cut.
    pub(crate) first: Option<(Errand, Cut)>,
    /// What the last boot does.
    pub(crate) last: Errand,
    /// Where its files out go, in their order.
    pub(crate) places: Vec<PathBuf>,
    /// The disk that outlives the command.
    pub(crate) disk: Option<PathBuf>,
    /// Of one boot.
    pub(crate) limit: Duration,
}

impl GuestOrder {
    /// What stands behind `cargo xtask vm run`, `reboot` or `kill`.
    pub(super) fn parse(command: &str, arguments: &[&str]) -> anyhow::Result<Self> {
        let end = arguments.iter().position(|word| *word == "--");
        let end = end.context("the guest's command stands behind `--`")?;
        let (options, words) = (&arguments[..end], &arguments[end + 1..]);
        ensure!(!words.is_empty(), "there is no command behind `--`");
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let mut order = Self {
            guest: guest::usual(),
            first: None,
            last: Errand {
                script: words.join(" "),
                ..Errand::default()
            },
            places: Vec::new(),
            disk: None,
            limit: USUAL_LIMIT,
        };
        let (mut cut, mut then) = (Cut::Never, None);
        for option in options.chunks(2) {
            let [name, value] = option else {
                bail!("{} wants a value", option[0]);
            };
            let wrong = || format!("{name} {value}");
            match *name {
                "--then" => then = Some((*value).to_owned()),
                "--at-line" => cut = Cut::AtLine((*value).to_owned()),
                "--after" => cut = Cut::After(seconds(value).with_context(wrong)?),
                _ => order.set(name, value).with_context(wrong)?,
            }
        }
        order.set_boots(command, then, cut)?;
        Ok(order)
    }

    fn set(&mut self, name: &str, value: &str) -> anyhow::Result<()> {
        match name {
            "--guest" => self.guest = guest::named(value)?,
            "--put" => self.last.files_in.push(file_in(value)?),
            "--get" => {
                let (there, here) = file_out(value)?;
                self.last.files_out.push(there);
                self.places.push(here);
            }
            "--append" => value.clone_into(&mut self.last.kernel_options),
            "--disk" => self.disk = Some(PathBuf::from(value)),
            "--timeout" => self.limit = seconds(value)?,
            _ => bail!("there is no such option"),
        }
        Ok(())
    }

    /// With a second boot, the command behind the dashes is the first one's.
    fn set_boots(&mut self, command: &str, then: Option<String>, cut: Cut) -> anyhow::Result<()> {
        ensure!(
            then.is_some() == (command != "run"),
            "`--then SCRIPT` belongs to reboot and kill, which need it"
        );
        ensure!(
            (cut != Cut::Never) == (command == "kill"),
            "`--at-line TEXT` or `--after SECONDS` belongs to kill, which needs one"
        );
        if let Some(then) = then {
            let first = Errand {
                script: std::mem::replace(&mut self.last.script, then),
                files_in: self.last.files_in.clone(),
                ..Errand::default()
            };
            self.first = Some((first, cut));
        }
        Ok(())
    }
}

/// `HERE[:THERE]`; without the second, into the folder that the command starts in.
fn file_in(value: &str) -> anyhow::Result<(PathBuf, String)> {
    let (here, there) = halves(value);
    let here = PathBuf::from(here);
    ensure!(here.is_file(), "there is no such file");
    let there = match there {
        Some(there) => there.to_owned(),
        None => format!("/root/{}", base_name(&here)?),
    };
    Ok((here, there))
}

/// `THERE[:HERE]`; without the second, into this folder.
fn file_out(value: &str) -> anyhow::Result<(String, PathBuf)> {
    let (there, here) = halves(value);
    let here = match here {
        Some(here) => PathBuf::from(here),
        None => PathBuf::from(base_name(Path::new(there))?),
    };
    Ok((there.to_owned(), here))
}

fn halves(value: &str) -> (&str, Option<&str>) {
    value
        .split_once(':')
        .map_or((value, None), |(first, second)| (first, Some(second)))
}

fn base_name(path: &Path) -> anyhow::Result<&str> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.context("it names no file")
}

fn seconds(value: &str) -> anyhow::Result<Duration> {
    let seconds: f64 = value.parse().context("it is no number of seconds")?;
    let time = Duration::try_from_secs_f64(seconds)?;
    ensure!(
        !time.is_zero() && time <= Duration::from_secs(3600),
        "0 to 3600 seconds"
    );
    Ok(time)
}

/// A word as a shell takes it, whatever is in it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a command line comes to, whose words have a space between them.
    fn parse(line: &str) -> anyhow::Result<GuestOrder> {
        let words: Vec<&str> = line.split(' ').collect();
        GuestOrder::parse(words[0], &words[1..])
    }

    #[test]
    fn the_words_behind_the_dashes_reach_the_guest_as_they_are() {
        let order = GuestOrder::parse("run", &["--", "echo", "it's", "$HOME", "--"]).unwrap();
        assert_eq!(order.last.script, r"'echo' 'it'\''s' '$HOME' '--'");
        assert_eq!((order.guest, order.limit), (guest::usual(), USUAL_LIMIT));
    }

    #[test]
    fn the_command_comes_before_the_cut_and_the_script_after_it() {
        let order = parse("kill --at-line x --then a;b -- c").unwrap();
        let (first, cut) = order.first.unwrap();
        assert_eq!(
            (first.script.as_str(), cut),
            ("'c'", Cut::AtLine("x".to_owned()))
        );
        assert_eq!(order.last.script, "a;b");
    }

    #[test]
    fn files_go_in_and_out_under_their_own_or_another_name() {
        let here = file!().rsplit_once('/').map_or(file!(), |(_, name)| name);
        let own = target_file();
        let line = format!(
            "run --put {}:/tmp/x --get /var/log/a --get b:c -- true",
            own.display()
        );
        let order = parse(&line).unwrap();
        assert_eq!(order.last.files_in, [(own.clone(), "/tmp/x".to_owned())]);
        assert_eq!(order.last.files_out, ["/var/log/a", "b"]);
        assert_eq!(order.places, ["a", "c"].map(PathBuf::from));
        let plain = file_in(&own.display().to_string()).unwrap();
        assert_eq!(plain.1, format!("/root/{here}"));
    }

    fn target_file() -> PathBuf {
        crate::target::workspace().join("xtask/src/vm/order.rs")
    }

    #[test]
    fn the_last_boot_may_have_further_options_of_the_kernel() {
        let words = ["--append", "mitigations=off audit=0", "--", "true"];
        let order = GuestOrder::parse("run", &words).unwrap();
        assert_eq!(order.last.kernel_options, words[1]);
    }

    #[test]
    fn what_is_wrong_in_a_command_line_is_named() {
        for (line, named) in [
            ("run true", "behind `--`"),
            ("run --", "no command behind"),
            ("run --guest 5.4 -- true", "no guest `5.4`; there are 6.1"),
            ("run --guest -- true", "--guest wants a value"),
            (
                "run --put /no/such -- true",
                "--put /no/such: there is no such file",
            ),
            ("run --timeout soon -- true", "no number of seconds"),
            ("run --timeout -1 -- true", "--timeout -1"),
            ("run --colour 1 -- true", "no such option"),
            ("run --then true -- true", "belongs to reboot and kill"),
            ("reboot -- true", "--then SCRIPT"),
            ("kill --then true -- true", "--at-line TEXT"),
            ("reboot --then a --after 1 -- b", "belongs to kill"),
        ] {
            let words = format!("{:#}", parse(line).unwrap_err());
            assert!(words.contains(named), "{line}: {words}");
        }
    }
}
