//! Files whose names come from somebody whom we do not trust, or that lie in folders which he has
//! filled. Only regular files are opened: opening a FIFO would wait for its other end, opening a
//! device does whatever its driver does, and a link leads elsewhere. A file that our own user named
//! may be any of these; only its size is limited ([`read_any`]).

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Opens a regular file for reading. Its kind is checked on a descriptor that holds the file
/// without opening it (`O_PATH`, open(2)), so that no other file can take its place in between.
///
/// # Errors
/// Those of open(2), and where it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, libc::O_PATH)
}

/// Reads a regular file; a link is not followed.
///
/// # Errors
/// Those of [`open`], and where the file has more than `most_bytes`.
pub fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    bounded(
        open_with(path, libc::O_PATH | libc::O_NOFOLLOW)?,
        most_bytes,
    )
}

/// Reads a regular file, but only if `owner` (a user ID) owns it: for folders in which anybody may
/// put a file. A link is not followed.
///
/// # Errors
/// Those of [`read`], and where another user owns it.
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

/// Reads a text file; a link is not followed.
///
/// # Errors
/// Those of [`read`], and where it is not UTF-8.
pub fn read_text(path: &Path, most_bytes: u64) -> io::Result<String> {
    text(read(path, most_bytes)?)
}

/// Reads a file that our user named, which may also be a pipe or `/dev/stdin`.
///
/// # Errors
/// Those of open(2), and where there are more than `most_bytes`.
pub fn read_any(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    bounded(File::open(path)?, most_bytes)
}

/// Reads a text as [`read_any`] does.
///
/// # Errors
/// Those of [`read_any`], and where it is not UTF-8.
pub fn read_any_text(path: &Path, most_bytes: u64) -> io::Result<String> {
    text(read_any(path, most_bytes)?)
}

/// Reads a text file that our user named; a link to it is followed.
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

/// Opens a file to add to its end, and creates it where there is none. A link is not followed, and
/// a file with further names (hard links) is refused.
///
/// # Errors
/// Those of open(2), and where it is no regular file or has several names.
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
    // Under its other name it may be anybody's file.
    if found.nlink() > 1 {
        return Err(io::Error::other(
            "the file has other names too (hard links), and what is added would be added there; put a copy in its place",
        ));
    }
    Ok(file)
}

/// Writes a file completely or not at all. It is written next to `path` under an unpredictable
/// name, and then renamed over whatever is at `path`, even over a link.
///
/// # Errors
/// Those of the system; what was at `path` then stays.
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
