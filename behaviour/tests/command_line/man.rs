//! Manual pages, as groff formats them.

use std::process::{Command, Stdio};

use crate::command_line::{answer, as_str, commands, linerate};

/// The page as groff formats it for a terminal of 80 columns; panics if groff has complaints.
fn set(page: &str) -> String {
    let file = std::env::temp_dir().join(format!("linerate-man-{}.1", std::process::id()));
    std::fs::write(&file, page).unwrap();
    let mut groff = Command::new("groff");
    groff.args(["-man", "-Tutf8", "-Kutf8", "-ww", "-P-cbou", "-rLL=80n"]);
    let output = groff.arg(&file).stdin(Stdio::null()).output().unwrap();
    std::fs::remove_file(&file).unwrap();
    let complaints = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && complaints.is_empty(),
        "{complaints}\n{page}"
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn groff_sets_the_page_of_every_command_without_a_warning() {
    let pages = commands()
        .into_iter()
        .map(|words| set(&answer(&[&["man"], &as_str(&words)[..]].concat())));
    let pages: Vec<String> = pages.collect();
    for page in &pages {
        assert!(page.contains("NAME") && page.contains("SYNOPSIS"), "{page}");
    }
    assert!(pages[0].contains("EXIT CODES") && pages[0].contains("linerate-load(1)"));
    let is_heading = |line: &&str| line.starts_with(|first: char| first.is_ascii_uppercase());
    for heading in pages
        .iter()
        .flat_map(|page| page.lines().filter(is_heading))
    {
        let is_title = heading.starts_with("linerate") || heading.starts_with("Linerate");
        assert!(is_title || heading.len() < 60, "{heading}");
    }
}

#[test]
fn an_unknown_command_is_refused_with_the_name_of_the_command_that_lacks_it() {
    for (words, lacks) in [
        (&["man", "nosuch"][..], "`linerate` has no command `nosuch`"),
        (
            &["man", "study", "nosuch"],
            "`linerate study` has no command",
        ),
    ] {
        let output = linerate(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        crate::common::assert_says(&crate::common::errors(&output), lacks);
    }
}

#[test]
fn all_pages_are_written_into_a_folder_and_those_of_hidden_commands_are_not() {
    let folder = std::env::temp_dir().join(format!("linerate-pages-{}", std::process::id()));
    assert_eq!(answer(&["man", "--out", folder.to_str().unwrap()]), "");
    let file = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let files = std::fs::read_dir(&folder).unwrap().map(file);
    let mut files: Vec<_> = files.map(|name| name.into_string().unwrap()).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    files.sort();
    let page =
        |words: &Vec<String>| [&["linerate".to_owned()], &words[..]].concat().join("-") + ".1";
    let mut wanted: Vec<_> = commands().iter().map(page).collect();
    wanted.sort();
    assert_eq!(files, wanted);
}
