//! The password for one start of a service. It is drawn at random each time, and written to a file
//! in the service's folder for the user who started it.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use model::Service;

use super::folder::Folder;

/// Name of the file in the service's folder.
const FILE: &str = "password";

/// A password and its file. It is handed on in files and over connections, never as an argument of
/// a program: every user of the machine can read arguments.
pub(super) struct Password {
    /// 128 bits in hexadecimal digits.
    pub(super) word: String,
    pub(super) file: PathBuf,
}

impl Password {
    /// Draws a password and writes its file; `None` for a service that wants none.
    ///
    /// # Errors
    /// When the kernel gives no random numbers, or the file cannot be written.
    pub(super) fn of(service: &Service, folder: &Folder) -> io::Result<Option<Self>> {
        if !service.wants_a_password() {
            return Ok(None);
        }
        let mut word = String::new();
        for byte in sys::random::bytes::<16>()? {
            let _ = write!(word, "{byte:02x}");
        }
        folder.write(FILE, &format!("{word}\n"))?;
        let file = folder.path().join(FILE);
        Ok(Some(Self { word, file }))
    }

    /// The value of one of the password's variables; `None` for other variables.
    pub(super) fn value_of(&self, variable: &str) -> Option<String> {
        match variable {
            model::service::PASSWORD => Some(self.word.clone()),
            model::service::PASSWORD_FILE => Some(self.file.display().to_string()),
            _ => None,
        }
    }
}
