//! Parses the command line of `cargo xtask vm run`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use super::guest::{self, Guest};
use super::initramfs::Errand;
use super::machine::Cut;

const USUAL_LIMIT: Duration = Duration::from_secs(120);

/// What to do with a guest.
#[derive(Debug)]
pub(crate) struct GuestOrder {
    pub(crate) guest: &'static Guest,
    pub(crate) errand: Errand,
    /// Paths to which its files out are copied, in the order of those.
    pub(crate) places: Vec<PathBuf>,
    /// The disk that remains after the command; `None` for one that is removed.
    pub(crate) disk: Option<PathBuf>,
    pub(crate) cut: Cut,
    pub(crate) limit: Duration,
}

impl GuestOrder {
    /// Parses the arguments after `cargo xtask vm run`.
    pub(super) fn parse(arguments: &[&str]) -> anyhow::Result<Self> {
        let end = arguments.iter().position(|word| *word == "--");
        let end = end.context("the guest's command stands behind `--`")?;
        let (options, words) = (&arguments[..end], &arguments[end + 1..]);
        ensure!(!words.is_empty(), "there is no command behind `--`");
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let mut order = Self {
            guest: guest::usual(),
            errand: Errand {
                script: words.join(" "),
                ..Errand::default()
            },
            places: Vec::new(),
            disk: None,
            cut: Cut::Never,
            limit: USUAL_LIMIT,
        };
        for option in options.chunks(2) {
            let [name, value] = option else {
                bail!("{} wants a value", option[0]);
            };
            let wrong = || format!("{name} {value}");
            order.set(name, value).with_context(wrong)?;
        }
        Ok(order)
    }

    fn set(&mut self, name: &str, value: &str) -> anyhow::Result<()> {
        match name {
            "--guest" => self.guest = guest::named(value)?,
            "--put" => self.errand.files_in.push(file_in(value)?),
            "--get" => {
                let (there, here) = file_out(value)?;
                self.errand.files_out.push(there);
                self.places.push(here);
            }
            "--append" => value.clone_into(&mut self.errand.kernel_options),
            "--disk" => self.disk = Some(PathBuf::from(value)),
            "--cut-at" => self.cut = Cut::AtLine(value.to_owned()),
            "--timeout" => self.limit = seconds(value)?,
            _ => bail!("there is no such option"),
        }
        Ok(())
    }
}

/// Parses `HERE[:THERE]`; without `THERE` the file goes into the folder in which the command
/// starts.
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

/// Parses `THERE[:HERE]`; without `HERE` the file goes into the current folder.
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
        "more than 0 and at most 3600 seconds"
    );
    Ok(time)
}

/// A word quoted for a shell, whatever characters it contains.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses a command line whose words are separated by spaces.
    fn parse(line: &str) -> anyhow::Result<GuestOrder> {
        GuestOrder::parse(&line.split(' ').collect::<Vec<_>>())
    }

    #[test]
    fn the_words_behind_the_dashes_reach_the_guest_as_they_are() {
        let order = GuestOrder::parse(&["--", "echo", "it's", "$HOME", "--"]).unwrap();
        assert_eq!(order.errand.script, r"'echo' 'it'\''s' '$HOME' '--'");
        assert_eq!((order.guest, order.limit), (guest::usual(), USUAL_LIMIT));
    }

    #[test]
    fn files_go_in_and_out_under_their_own_or_another_name() {
        let own = crate::target::workspace().join("xtask/src/vm/order.rs");
        let (put, words) = (
            format!("{}:/tmp/x", own.display()),
            "--get /var/log/a --get b:c",
        );
        let order = parse(&format!("--put {put} {words} -- true")).unwrap();
        assert_eq!(order.errand.files_in, [(own.clone(), "/tmp/x".to_owned())]);
        assert_eq!(order.errand.files_out, ["/var/log/a", "b"]);
        assert_eq!(order.places, ["a", "c"].map(PathBuf::from));
        let plain = file_in(&own.display().to_string()).unwrap();
        assert_eq!(plain.1, "/root/order.rs");
    }

    #[test]
    fn what_is_wrong_in_a_command_line_is_named() {
        for (line, named) in [
            ("true", "behind `--`"),
            ("--", "no command behind"),
            ("--guest 5.4 -- true", "no guest `5.4`; there are 6.1"),
            ("--guest -- true", "--guest wants a value"),
            (
                "--put /no/such -- true",
                "--put /no/such: there is no such file",
            ),
            ("--timeout soon -- true", "no number of seconds"),
            ("--timeout -1 -- true", "--timeout -1"),
            ("--colour 1 -- true", "no such option"),
        ] {
            let words = format!("{:#}", parse(line).unwrap_err());
            assert!(words.contains(named), "{line}: {words}");
        }
    }
}
