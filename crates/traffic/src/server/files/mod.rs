//! Files below a folder, sent from the page cache.

mod conditions;
mod heads;

use std::ffi::CStr;
use std::fmt::Write as _;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use sys::root_folder::{NoRoot, NotOpened, RootFolder};
use wire::path;
use wire::range::Selection;
use wire::request::{Method, Request};
use wire::response_head::{DATE_BYTES, Persistence};
use wire::status::Status;

use self::conditions::{FileAnswer, FileVersion};
use self::heads::{Answering, Heads};
use crate::engine::{FilePart, FileWay, Output};

/// The file that is sent for a folder.
const INDEX: &[u8] = b"index.html";
/// The type of a file whose name does not tell it.
const UNKNOWN_TYPE: &str = "application/octet-stream";
/// Seconds within which two changes of a file may get the same time: a tick of the kernel on most
/// file systems, 2 s on FAT.
const TIME_STEP_S: u64 = 2;

/// Files to serve. Folders are not listed: for `/a/` there is `a/index.html` or nothing, and `/a`
/// is redirected to `/a/`.
pub struct Files {
    root: RootFolder,
    way: FileWay,
    content_type: ContentType,
    heads: Heads,
    now: SystemTime,
    /// Path of the request under way, stored here to reuse its memory; it ends with a NUL once it
    /// was opened.
    path: Vec<u8>,
    tag: String,
}

/// A function from an extension without its dot to a content type; `None` for an unknown one.
pub type ContentType = fn(&str) -> Option<&'static str>;

impl Files {
    /// Serves what lies below `root`, and nothing outside it to which a path or a symbolic link
    /// leads.
    ///
    /// # Errors
    /// When there is no such folder, or the kernel cannot look files up in this way.
    pub fn below(root: &Path, content_type: ContentType) -> Result<Self, NoRoot> {
        Ok(Self {
            root: RootFolder::open(root)?,
            way: FileWay::default(),
            content_type,
            heads: Heads::new(),
            now: SystemTime::UNIX_EPOCH,
            path: Vec::new(),
            tag: String::new(),
        })
    }

    /// Returns the folder that holds the files.
    pub fn root(&self) -> &RootFolder {
        &self.root
    }

    /// Sets the way in which files are sent in the clear.
    #[must_use]
    pub fn by(self, way: FileWay) -> Self {
        Self { way, ..self }
    }

    pub(super) fn set_date(&mut self, now: SystemTime, date: &[u8; DATE_BYTES]) {
        self.now = now;
        self.heads.set_date(date);
    }

    /// Appends the answer to a GET or HEAD; returns where the body starts in what was appended.
    ///
    /// # Errors
    /// The status that says why there is no answer; then nothing was appended.
    pub(super) fn answer(
        &mut self,
        request: &Request<'_>,
        persistence: Persistence,
        output: &mut Output,
    ) -> Result<usize, Status> {
        path::resolve(request.target, &mut self.path).map_err(|_| Status::BadRequest)?;
        let is_folder = matches!(self.path.last(), None | Some(b'/'));
        let file = self.open(is_folder)?;
        let metadata = file.metadata().map_err(|_| Status::InternalServerError)?;
        if metadata.is_file() {
            return self.send(request, persistence, file, &metadata, output);
        }
        if !metadata.is_dir() || is_folder {
            return Err(Status::Forbidden);
        }
        let to = &mut Answering {
            output: output.bytes(),
            persistence,
        };
        self.heads.moved(to, request.target);
        Ok(output.bytes().len())
    }

    /// Opens the file at the path; for a folder, its index.
    fn open(&mut self, is_folder: bool) -> Result<File, Status> {
        let folder_bytes = self.path.len();
        if is_folder {
            self.path.extend_from_slice(INDEX);
        }
        match self.open_path() {
            Err(NotOpened::Absent) if is_folder => {
                self.path.truncate(folder_bytes);
                self.path.push(b'.');
                // The folder exists, but it is not listed.
                Err(self
                    .open_path()
                    .map_or_else(status_of, |_| Status::Forbidden))
            }
            opened => opened.map_err(status_of),
        }
    }

    fn open_path(&mut self) -> Result<File, NotOpened> {
        self.path.push(0);
        let path = CStr::from_bytes_with_nul(&self.path).expect("a resolved path holds no NUL");
        self.root.open_below(path)
    }

    fn send(
        &mut self,
        request: &Request<'_>,
        persistence: Persistence,
        file: File,
        metadata: &Metadata,
        output: &mut Output,
    ) -> Result<usize, Status> {
        write_tag(&mut self.tag, metadata, self.now);
        let version = FileVersion {
            tag: &self.tag,
            modified: stated_time(metadata.mtime(), self.now),
            bytes: metadata.size(),
        };
        let kind = content_type(&self.path, self.content_type);
        let to = &mut Answering {
            output: output.bytes(),
            persistence,
        };
        let (offset, bytes) = match conditions::judge(request, version) {
            FileAnswer::PreconditionFailed => return Err(Status::PreconditionFailed),
            FileAnswer::Content(Selection::Unsatisfiable) => {
                return Ok(self.heads.unsatisfiable(to, version));
            }
            FileAnswer::NotModified => {
                self.heads.not_modified(to, version);
                (0, 0)
            }
            FileAnswer::Content(Selection::Whole) => {
                self.heads.whole(to, kind, version);
                (0, version.bytes)
            }
            FileAnswer::Content(Selection::Part { first, bytes }) => {
                self.heads.part(to, kind, version, (first, bytes));
                (first, bytes)
            }
        };
        if request.method == Method::Get && bytes > 0 {
            let part = FilePart::new(file, metadata, (offset, bytes));
            output.attach(part.by(self.way));
        }
        Ok(output.bytes().len())
    }
}

/// Writes the tag of a file: its inode, its length and the time of its last change, which cannot be
/// set by users as the time of its content can. The tag is weak as long as another change may get
/// the same time.
fn write_tag(tag: &mut String, metadata: &Metadata, now: SystemTime) {
    let (seconds, nanoseconds) = (metadata.ctime(), metadata.ctime_nsec());
    let (inode, bytes) = (metadata.ino(), metadata.size());
    tag.clear();
    let mark = if is_settled(metadata, now) { "" } else { "W/" };
    write!(
        tag,
        "{mark}\"{seconds:x}.{nanoseconds:x}-{inode:x}-{bytes:x}\""
    )
    .expect("a text takes what is written");
}

/// Whether a change from now on would get a later time than the last one.
fn is_settled(metadata: &Metadata, now: SystemTime) -> bool {
    let changed = u64::try_from(metadata.ctime()).unwrap_or(0);
    // Both are whole seconds, so their difference may be one more than has passed.
    changed.saturating_add(TIME_STEP_S) < unix_seconds(now)
}

fn unix_seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

/// Returns the type for the letters after the last dot in the last name of the path; the path ends
/// with a NUL.
fn content_type(path: &[u8], by_extension: ContentType) -> &'static str {
    let path = path.strip_suffix(b"\0").unwrap_or(path);
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let mut pieces = name.rsplitn(2, |byte| *byte == b'.');
    let extension = pieces.next().filter(|_| pieces.next().is_some());
    extension
        .and_then(|extension| by_extension(std::str::from_utf8(extension).ok()?))
        .unwrap_or(UNKNOWN_TYPE)
}

/// Returns a time that an HTTP date can express; file systems have earlier and later ones. A time
/// in the future becomes the present second (RFC 9110 §8.8.2.1).
fn stated_time(seconds: i64, now: SystemTime) -> SystemTime {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    let seconds = seconds.min(unix_seconds(now));
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Returns the status for a failure to open a file.
fn status_of(error: NotOpened) -> Status {
    match error {
        NotOpened::Absent => Status::NotFound,
        NotOpened::Forbidden => Status::Forbidden,
        NotOpened::Busy => Status::ServiceUnavailable,
        NotOpened::Failed => Status::InternalServerError,
    }
}
