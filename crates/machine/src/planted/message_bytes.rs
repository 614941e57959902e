//! `message-bytes=N`: each answer of our server carries a message of N bytes.

use model::Binds;
use model::lever::Takes;

use super::{Planted, PlantedError, Setting, Wanted, number_of};

const NAME: &str = "message-bytes";
/// An argument may have 128 KiB (`MAX_ARG_STRLEN` of linux/binfmts.h).
const MOST: u64 = 100_000;
/// As much as TCP hands to a device in one piece.
const USUAL: u64 = 65_536;

/// Large answers, for what only bulk shows.
pub(super) struct MessageBytes;

impl Planted for MessageBytes {
    fn name(&self) -> &'static str {
        NAME
    }

    fn binds(&self) -> Binds {
        Binds::Fork
    }

    fn only_serve(&self) -> bool {
        true
    }

    fn summary(&self) -> &'static str {
        "each answer carries a message of so many bytes, so that the server sends in bulk"
    }

    fn takes(&self) -> Takes {
        Takes::Number(1..=MOST)
    }

    fn set(&self, wanted: Wanted<'_>) -> Result<Setting, PlantedError> {
        let bytes = number_of(self, wanted, USUAL)?;
        let message = (0..bytes).map(|_| 'x').collect();
        Ok(Setting::ServeArgument(vec![
            "--message".to_owned(),
            message,
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_as_many_bytes_as_were_asked_for() {
        for (value, bytes) in [(None, 65_536), (Some("100000"), 100_000)] {
            let wanted = Wanted {
                value,
                ..Wanted::default()
            };
            let Setting::ServeArgument(arguments) = MessageBytes.set(wanted).unwrap() else {
                panic!("it is no argument");
            };
            assert_eq!(arguments[0], "--message");
            assert_eq!(arguments[1].len(), bytes);
        }
    }
}
