//! The folder of a new run.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// More runs of one study than anybody begins within one second.
const MOST_OF_ONE_NAME: u32 = 100;

/// The folder of a run. One that nobody named is made for this run alone, so that runs begun within
/// one second have one each. It is removed with this value if nothing was put into it.
#[derive(Debug)]
pub(crate) struct NewFolder {
    path: PathBuf,
    /// Folders that were made for it, innermost first.
    made: Vec<PathBuf>,
}

impl NewFolder {
    /// Returns a folder that was named; the code that writes the run makes it.
    pub(crate) fn named(path: PathBuf) -> Self {
        Self {
            path,
            made: Vec::new(),
        }
    }

    /// Makes a folder that nobody uses: with this path or, if that is taken, with `-2`, `-3` and so
    /// on appended. If none can be made, the code that writes the run says why.
    pub(crate) fn unused(path: &Path) -> Self {
        let around = path.parent().filter(|around| make(around).is_ok());
        let numbered = |nth: u32| PathBuf::from(format!("{}-{nth}", path.display()));
        let further = (2..=MOST_OF_ONE_NAME).map(numbered);
        let mut all = std::iter::once(path.to_owned()).chain(further);
        // Making it claims it: of two processes that try at once, the kernel lets one succeed.
        let own = all.find_map(|path| match make(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
            outcome => Some((path, outcome.is_ok())),
        });
        let (path, is_made) = own.unwrap_or_else(|| (path.to_owned(), false));
        let made = is_made.then(|| path.clone()).into_iter();
        Self {
            path,
            made: made.chain(around.map(Path::to_owned)).collect(),
        }
    }
}

/// Makes a folder that survives a power cut, which takes a sync of the folder around it.
fn make(folder: &Path) -> std::io::Result<()> {
    fs::create_dir(folder)?;
    let around = folder.parent().filter(|path| !path.as_os_str().is_empty());
    // A disk that cannot sync is reported where the run is written.
    let _ = File::open(around.unwrap_or_else(|| Path::new("."))).and_then(|it| it.sync_all());
    Ok(())
}

impl Deref for NewFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // A folder that holds a run, or something that somebody else put there, stays.
        for folder in &self.made {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_name_have_a_folder_each_and_those_that_came_to_nothing_leave_none() {
        let around = std::env::temp_dir().join(format!("linerate-folders-{}", std::process::id()));
        let path = around.join("study-now");
        let [one, other, third] = [(); 3].map(|()| NewFolder::unused(&path));
        assert_eq!(&*one, path);
        assert_eq!(&*other, around.join("study-now-2"));
        assert_eq!(&*third, around.join("study-now-3"));
        fs::write(other.join("run.json"), "{}").unwrap();
        drop((third, other, one));
        assert!(around.join("study-now-2/run.json").exists());
        assert_eq!(fs::read_dir(&around).unwrap().count(), 1);
        fs::remove_dir_all(around).unwrap();
    }
}
