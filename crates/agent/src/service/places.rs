//! Where programs are looked for: the folders of `PATH`, those of servers, and a service's own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The folders in which servers are installed, and which the PATH of ordinary users leaves out.
const SERVERS_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The folders in which the programs of a service are looked for, in order.
pub(super) fn folders(places: &[String]) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    let of_servers = SERVERS_FOLDERS.iter().map(PathBuf::from);
    let own = places.iter().flat_map(|place| expanded(place));
    named.chain(of_servers).chain(own).collect()
}

/// The folders besides those of `PATH`, as text for a reader.
pub(super) fn beside_path(places: &[String]) -> String {
    let own = places.iter().map(String::as_str);
    let all: Vec<&str> = SERVERS_FOLDERS.into_iter().chain(own).collect();
    all.join(", ")
}

pub(super) fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The folders that a path with stars stands for, those with the highest version first.
fn expanded(place: &str) -> Vec<PathBuf> {
    let names = place.split('/').filter(|name| !name.is_empty());
    names.fold(vec![PathBuf::from("/")], |folders, name| {
        let below = |folder: PathBuf| match name.split_once('*') {
            None => vec![folder.join(name)],
            Some((before, after)) => matching(&folder, before, after),
        };
        folders.into_iter().flat_map(below).collect()
    })
}

fn matching(folder: &Path, before: &str, after: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let fits = |name: &String| {
        let rest = name.strip_prefix(before);
        rest.is_some_and(|rest| rest.ends_with(after))
    };
    let mut names: Vec<String> = names.filter(fits).collect();
    names.sort_by_key(|name| std::cmp::Reverse(version(name)));
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// The numbers in a name, so that 15 comes after 9.
fn version(name: &str) -> Vec<u64> {
    let numbers = name.split(|c: char| !c.is_ascii_digit());
    numbers.filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use sys::descent::Descent;

    use super::*;

    #[test]
    fn a_star_stands_for_one_name_and_the_highest_version_comes_first() {
        let root = std::env::temp_dir().join(format!("linerate-places-{}", std::process::id()));
        for folder in [
            "pg-9/bin",
            "pg-15/bin",
            "pg-9.6/bin",
            "other/bin",
            "pg-15x/lib",
        ] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let found = expanded(&format!("{}/pg-*/bin", root.display()));
        let names: Vec<_> = found
            .iter()
            .filter(|path| path.exists())
            .map(|path| {
                path.strip_prefix(&root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(names, ["pg-15/bin", "pg-9.6/bin", "pg-9/bin"]);
    }

    #[test]
    fn what_lies_in_a_folder_of_its_owner_alone_is_nothing_for_nobody() {
        let root = std::env::temp_dir().join(format!("linerate-mine-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o700)).unwrap();
        let program = root.join("program");
        fs::write(&program, "").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let (mine, nobodys) = (
            Descent::Stay.may_run(&program),
            Descent::ToNobody.may_run(&program),
        );
        fs::remove_dir_all(&root).unwrap();
        assert!(
            is_program(Path::new("/bin/sh")) && Descent::ToNobody.may_run(Path::new("/bin/sh"))
        );
        assert_eq!((mine, nobodys), (true, false));
    }
}
