//! Data that is shipped with the program: files of this repository, compiled in.

/// Names and texts of the files of a folder.
macro_rules! shipped {
    ($folder:literal: $($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../", $folder, "/", $name, ".toml")))),*]
    };
}
pub(crate) use shipped;

/// Largest size of such a file on disk, bytes; the longest of ours has a fortieth of it.
pub(crate) const MOST_BYTES: u64 = 1 << 20;

/// Names of the files in a folder below the current one, unordered.
pub(crate) fn on_disk(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.file_name().into_string().ok());
    files
        .filter_map(|file| Some(file.strip_suffix(".toml")?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn each_file_of_studies_and_services_is_compiled_in() {
        let names = |folder: &str| {
            let folder = format!("{}/../../{folder}", env!("CARGO_MANIFEST_DIR"));
            let entries = std::fs::read_dir(folder).unwrap();
            let files = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let names = files.filter_map(|file| Some(file.strip_suffix(".toml")?.to_owned()));
            names.collect::<BTreeSet<_>>()
        };
        let built_in =
            |list: &[(&str, &str)]| list.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(names("studies"), built_in(crate::catalogue::BUILT_IN));
        assert_eq!(names("services"), built_in(crate::services::BUILT_IN));
    }
}
