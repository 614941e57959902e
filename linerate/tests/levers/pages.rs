//! The pages of `docs/levers` say what the declarations say.

use std::fs;
use std::path::Path;

use crate::common::{Folder, answer};

#[test]
fn the_pages_are_made_of_the_declarations() {
    let folder = Folder::new("levers-pages");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/levers");
    let names = || {
        fs::read_dir(&docs)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
    };
    for name in names() {
        fs::copy(docs.join(&name), folder.path().join(&name)).unwrap();
    }
    let path = folder.path().display().to_string();
    let mut made = std::process::Command::new(env!("CARGO_BIN_EXE_linerate"));
    answer(made.args(["levers", "pages", &path]));
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let (made, kept) = (
            fs::read_to_string(&path),
            fs::read_to_string(docs.join(path.file_name().unwrap())),
        );
        let hint = format!(
            "{}: write it anew with `linerate levers pages docs/levers`",
            path.display()
        );
        assert_eq!(made.unwrap(), kept.unwrap_or_default(), "{hint}");
    }
    let list = answer(
        std::process::Command::new(env!("CARGO_BIN_EXE_linerate"))
            .args(["levers", "list", "--json"]),
    );
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let count = list["levers"].as_array().unwrap().len();
    assert_eq!(
        names().count(),
        count + 1,
        "a page of a lever that there is not"
    );
}
