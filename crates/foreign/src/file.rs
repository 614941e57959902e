//! Files by names that come from whom we do not trust, or in folders that he has filled: regular ones and no others. To
//! open a FIFO would wait for its other end, to open a device does whatever its driver does, and a link leads elsewhere.
//! What whoever runs us named himself may be any of these, and is bounded alone ([`read_any`]).

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Opens it for reading. What it is, is looked at while it is held and not opened (`O_PATH`, open(2)), so that no other
/// takes its place meanwhile.
///
/// # Errors
/// Those of open(2), and that it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, libc::O_PATH)
}

/// Reads a file that lies there itself: a link is not followed.
///
/// # Errors
/// Those of [`open`], and that it has more than `most_bytes`.
pub fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    bounded(
        open_with(path, libc::O_PATH | libc::O_NOFOLLOW)?,
        most_bytes,
    )
}

/// Reads a file that lies there itself, in a folder where anybody may put one, if it is that user's.
///
/// # Errors
/// Those of [`read`], and that it is another's.
pub fn read_of(owner: u32, path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_with(path, libc::O_PATH | libc::O_NOFOLLOW)?;
    if file.metadata()?.uid() != owner {
        return Err(io::Error::other("it is another user's"));
    }
    bounded(file, most_bytes)
}

fn bounded(file: File, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes {
        return Err(io::Error::other(format!(
            "it has more than the {most_bytes} bytes that are read of it"
        )));
    }
    Ok(bytes)
}

/// Reads a text that lies there itself.
///
/// # Errors
/// Those of [`read`], and that it is no UTF-8.
pub fn read_text(path: &Path, most_bytes: u64) -> io::Result<String> {
    text(read(path, most_bytes)?)
}

/// Reads what its reader asked for by its name, a pipe or `/dev/stdin` too.
///
/// # Errors
/// Those of open(2), and that there are more than `most_bytes`.
pub fn read_any(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    bounded(File::open(path)?, most_bytes)
}

/// [`read_any`] of a text.
///
/// # Errors
/// Those of [`read_any`], and that it is no UTF-8.
pub fn read_any_text(path: &Path, most_bytes: u64) -> io::Result<String> {
    text(read_any(path, most_bytes)?)
}

/// Reads a text that a link may lead to: one that its reader asked for by its name.
///
/// # Errors
/// Those of [`read_text`].
pub fn follow_text(path: &Path, most_bytes: u64) -> io::Result<String> {
    text(bounded(open(path)?, most_bytes)?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    let text = String::from_utf8(bytes);
    text.map_err(|error| io::Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

/// Opens a file to add to its end, and makes it where there is none; a link is not followed, and a file
/// that is also another's by a hard link is left alone.
///
/// # Errors
/// Those of open(2), and that it is no regular file.
pub fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    let opened = options
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => is_a_link(),
        // A FIFO that nobody reads.
        Some(libc::ENXIO) => is_no_file(),
        _ => error,
    })?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(is_no_file());
    }
    // Under another name it may be anybody's.
    if found.nlink() > 1 {
        return Err(io::Error::other(
            "the file has other names too (hard links), and what is added would be added there; put a copy in its place",
        ));
    }
    Ok(file)
}

/// Puts a file into its place whole or not at all: it is made beside, under a name that nobody can
/// foresee, and takes the place of whatever has the name, also of a link.
///
/// # Errors
/// Those of the system; what was there stays then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = beside(path);
    let written = File::create_new(&draft).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

fn beside(path: &Path) -> PathBuf {
    let number = RandomState::new().build_hasher().finish();
    let name = path.file_name().unwrap_or_default();
    let mut draft = std::ffi::OsString::from(".");
    draft.push(name);
    draft.push(format!(".{number:016x}"));
    path.with_file_name(draft)
}

fn open_with(path: &Path, flags: i32) -> io::Result<File> {
    let mut options = File::options();
    let held = options.read(true).custom_flags(flags).open(path)?;
    let kind = held.metadata()?.file_type();
    if kind.is_symlink() {
        return Err(is_a_link());
    }
    if !kind.is_file() {
        return Err(is_no_file());
    }
    File::open(format!("/proc/self/fd/{}", held.as_raw_fd()))
}

fn is_a_link() -> io::Error {
    io::Error::other("it is a symbolic link, which is not followed here")
}

fn is_no_file() -> io::Error {
    io::Error::other("it is no regular file")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(test: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("foreign-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn a_file_is_opened_and_a_device_or_a_folder_is_not() {
        let mut own = open(Path::new("/proc/self/exe")).unwrap();
        let mut magic = [0; 4];
        own.read_exact(&mut magic).unwrap();
        assert_eq!(&magic, b"\x7fELF");
        for other in ["/dev/zero", "/tmp"] {
            let why = open(Path::new(other)).unwrap_err().to_string();
            assert_eq!(why, "it is no regular file", "{other}");
        }
        let absent = open(Path::new("/no/such/file")).unwrap_err();
        assert_eq!(absent.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn no_more_than_asked_for_is_read_and_nothing_through_a_link() {
        let folder = folder("read");
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, "12345").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(read_text(&file, 5).unwrap(), "12345");
        assert!(read(&file, 4).is_err());
        assert!(read(&link, 5).unwrap_err().to_string().contains("link"));
        let owner = fs::metadata(&file).unwrap().uid();
        assert_eq!(read_of(owner, &file, 5).unwrap(), b"12345");
        let refused = |owner, path, most_bytes| {
            let refused = read_of(owner, path, most_bytes).unwrap_err();
            refused.to_string()
        };
        assert_eq!(refused(owner + 1, &file, 5), "it is another user's");
        assert!(refused(owner, &file, 4).contains("more than"));
        assert!(refused(owner, &link, 5).contains("link"));
        assert_eq!(follow_text(&link, 5).unwrap(), "12345");
        assert!(follow_text(&link, 4).is_err());
        assert!(follow_text(Path::new("/dev/zero"), 4).is_err());
        assert_eq!(read_any_text(Path::new("/dev/null"), 4).unwrap(), "");
        assert!(read_any(Path::new("/dev/zero"), 4).is_err());
        assert!(append(&link).unwrap_err().to_string().contains("link"));
        assert!(append(&folder).is_err());
        append(&file).unwrap().write_all(b"6").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"123456");
        fs::hard_link(&file, folder.join("other")).unwrap();
        let why = append(&file).unwrap_err().to_string();
        assert!(why.contains("hard links"), "{why}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_replaced_may_be_a_link_and_where_it_led_stays() {
        let folder = folder("replace");
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, "theirs").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, b"ours").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"theirs");
        assert_eq!(fs::read(&link).unwrap(), b"ours");
        // What cannot take its place leaves nothing beside it.
        fs::create_dir(folder.join("taken")).unwrap();
        assert!(replace(&folder.join("taken"), b"ours").is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
        fs::remove_dir_all(folder).unwrap();
    }
}
