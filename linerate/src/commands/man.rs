//! `linerate man [COMMAND]`: the help as pages for `man`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::console::Console;

/// Print the manual page of a command, or write them all
///
/// The pages say what `--help` says; they are made from the same declaration. With --out they are
/// written as files of section 1, one for linerate and one for each command: linerate.1,
/// linerate-load.1, linerate-study-run.1 and so on.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Read the manual page of a command:
    linerate man study run | man -l -
  Install all of them for yourself:
    linerate man --out ~/.local/share/man/man1")]
pub(crate) struct Arguments {
    /// The command, such as `load` or `study run` [default: linerate itself]
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    command: Vec<String>,
    /// Write every page into this folder, which is created if needed
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let mut top = console.command_line().disable_help_subcommand(true);
    top.build();
    match &arguments.out {
        Some(folder) => write_all(&top, folder)?,
        None => {
            let page = page(find(&top, &arguments.command)?)?;
            console.say(String::from_utf8_lossy(&page).trim_end());
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn find<'a>(top: &'a Command, words: &[String]) -> anyhow::Result<&'a Command> {
    words.iter().try_fold(top, |command, word| {
        command.find_subcommand(word).with_context(|| {
            let whole = command.get_bin_name().unwrap_or_else(|| command.get_name());
            format!("`{whole}` has no command `{word}`; `{whole} --help` lists those it has")
        })
    })
}

/// Writes the page of a command and of those below it that are not hidden.
fn write_all(command: &Command, folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    let file = folder.join(format!("{name}.1"));
    std::fs::write(&file, page(command)?).with_context(|| format!("writing {}", file.display()))?;
    let shown = command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set());
    shown
        .into_iter()
        .try_for_each(|inner| write_all(inner, folder))
}

/// Renders one page. The sections after the flags in the help get headings of their own here.
fn page(command: &Command) -> std::io::Result<Vec<u8>> {
    let man = Man::new(command.clone().subcommand_help_heading("COMMANDS"))
        .source(concat!("linerate ", env!("CARGO_PKG_VERSION")))
        .manual("Linerate");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|inner| !inner.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    let after = command.get_after_long_help();
    if let Some(text) = after.or_else(|| command.get_after_help()) {
        sections(&text.to_string()).to_writer(&mut page)?;
    }
    Ok(page)
}

/// Makes a section of each paragraph whose first line ends with a colon: that line becomes the
/// heading, and the rest stays as it is. Other paragraphs are prose, in a section of notes.
fn sections(text: &str) -> Roff {
    let mut roff = Roff::new();
    let mut in_notes = false;
    for paragraph in text.split("\n\n") {
        let titled = paragraph.split_once('\n');
        let titled = titled.and_then(|(title, rest)| Some((title.strip_suffix(':')?, rest)));
        if let Some((title, rest)) = titled {
            roff.control("SH", [title.to_uppercase().as_str()]);
            roff.control("nf", []);
            for line in rest.lines() {
                roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
            }
            roff.control("fi", []);
        } else {
            let heading = if in_notes {
                ("PP", None)
            } else {
                ("SH", Some("NOTES"))
            };
            roff.control(heading.0, heading.1);
            roff.text([roman(paragraph)]);
        }
        in_notes = titled.is_none();
    }
    roff
}
