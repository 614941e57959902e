//! Files below a folder, sent from the page cache.

mod heads;

use std::ffi::CStr;
use std::fs::{File, Metadata};
use std::path::Path;

use sys::root_folder::{NoRoot, NotOpened, RootFolder};
use wire::path;
use wire::range::{self, Selection};
use wire::request::{Method, Request};
use wire::response_head::{DATE_BYTES, Persistence};
use wire::status::Status;

use self::heads::{Answering, Heads};
use crate::engine::{FilePart, FileWay, Output};

/// What is sent for a folder.
const INDEX: &[u8] = b"index.html";
/// The type of what has a name that does not tell it.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// Files to serve. Those of a folder are not listed: for `/a/` there is `a/index.html` or nothing,
/// and `/a` is sent on to `/a/`.
pub struct Files {
    root: RootFolder,
    way: FileWay,
    content_type: ContentType,
    heads: Heads,
    /// Of the request under way, kept for its room; it ends with a NUL once it was opened.
    path: Vec<u8>,
}

/// The content type of an extension, without its dot; `None` for one that is unknown.
pub type ContentType = fn(&str) -> Option<&'static str>;

impl Files {
    /// Serves what lies below `root`, and nothing to which a path or a symbolic link leads outside.
    ///
    /// # Errors
    /// That there is no such folder, or no such lookup.
    pub fn below(root: &Path, content_type: ContentType) -> Result<Self, NoRoot> {
        Ok(Self {
            root: RootFolder::open(root)?,
            way: FileWay::default(),
            content_type,
            heads: Heads::new(),
            path: Vec::new(),
        })
    }

    /// The folder of them.
    #[must_use]
    pub fn root(&self) -> &RootFolder {
        &self.root
    }

    /// These files by another way out in the clear.
    #[must_use]
    pub fn by(self, way: FileWay) -> Self {
        Self { way, ..self }
    }

    pub(super) fn set_date(&mut self, date: &[u8; DATE_BYTES]) {
        self.heads.set_date(date);
    }

    /// Appends the answer to a GET or HEAD, and tells where the body starts of what was appended.
    ///
    /// # Errors
    /// The status that says why there is none; then nothing was appended.
    pub(super) fn answer(
        &mut self,
        request: &Request<'_>,
        persistence: Persistence,
        output: &mut Output,
    ) -> Result<usize, Status> {
        path::resolve(request.target, &mut self.path).map_err(|_| Status::BadRequest)?;
        let of_folder = matches!(self.path.last(), None | Some(b'/'));
        let file = self.open(of_folder)?;
        let metadata = file.metadata().map_err(|_| Status::InternalServerError)?;
        if metadata.is_file() {
            return Ok(self.send(request, persistence, (file, &metadata), output));
        }
        if !metadata.is_dir() || of_folder {
            return Err(Status::Forbidden);
        }
        let to = &mut Answering {
            output: output.bytes(),
            persistence,
        };
        self.heads.moved(to, request.target);
        Ok(output.bytes().len())
    }

    /// Opens what the path leads to; for a folder, its index.
    fn open(&mut self, of_folder: bool) -> Result<File, Status> {
        let folder_bytes = self.path.len();
        if of_folder {
            self.path.extend_from_slice(INDEX);
        }
        match self.open_path() {
            Err(NotOpened::Absent) if of_folder => {
                self.path.truncate(folder_bytes);
                self.path.push(b'.');
                // A folder that is there is not listed.
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
        (file, metadata): (File, &Metadata),
        output: &mut Output,
    ) -> usize {
        let length = metadata.len();
        let kind = content_type(&self.path, self.content_type);
        let to = &mut Answering {
            output: output.bytes(),
            persistence,
        };
        let (offset, bytes) = match selection(request, length) {
            Selection::Unsatisfiable => return self.heads.unsatisfiable(to, length),
            Selection::Whole => {
                self.heads.whole(to, kind, length);
                (0, length)
            }
            Selection::Part { first, bytes } => {
                self.heads.part(to, kind, (first, bytes), length);
                (first, bytes)
            }
        };
        if request.method == Method::Get && bytes > 0 {
            let part = FilePart::new(file, metadata, (offset, bytes));
            output.attach(part.by(self.way));
        }
        output.bytes().len()
    }
}

/// Ranges are defined for GET alone. A part is not sent to who has the rest of some version (`If-Range`): no answer
/// says of which version it is.
fn selection(request: &Request<'_>, length: u64) -> Selection {
    let is_of_some_version = request.values("If-Range").next().is_some();
    match request.value("Range") {
        Some(range) if request.method == Method::Get && !is_of_some_version => {
            range::select(range, length)
        }
        _ => Selection::Whole,
    }
}

/// By the letters after the last dot of the path's last name; the path ends with a NUL.
fn content_type(path: &[u8], by_extension: ContentType) -> &'static str {
    let path = path.strip_suffix(b"\0").unwrap_or(path);
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let mut pieces = name.rsplitn(2, |byte| *byte == b'.');
    let extension = pieces.next().filter(|_| pieces.next().is_some());
    extension
        .and_then(|extension| by_extension(std::str::from_utf8(extension).ok()?))
        .unwrap_or(UNKNOWN_TYPE)
}

/// What a failure to open is to the client.
fn status_of(error: NotOpened) -> Status {
    match error {
        NotOpened::Absent => Status::NotFound,
        NotOpened::Forbidden => Status::Forbidden,
        NotOpened::Busy => Status::ServiceUnavailable,
        NotOpened::Failed => Status::InternalServerError,
    }
}
