//! Folders and processes that look like ours and are not.
