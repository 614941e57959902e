//! What this process may do, and the settings that decide about it.

use model::inventory::{Permissions, Setting};

use super::look::Look;
use super::tables::{Meanings, TABLES, named_bits};
use crate::tree::behind;

pub(super) fn collect(look: &Look) -> Permissions {
    let status = look
        .text("proc/self/status", "permissions")
        .unwrap_or_default();
    let user = behind(&status, "Uid:").and_then(|ids| ids.split_whitespace().nth(1));
    Permissions {
        is_root: user == Some("0"),
        capabilities: named_bits(&TABLES.capabilities, look.tree().capabilities()),
        settings: TABLES
            .setting
            .iter()
            .filter_map(|setting| read(look, setting))
            .collect(),
    }
}

fn read(look: &Look, Meanings { name, meanings }: &Meanings) -> Option<Setting> {
    let value = look.text(&format!("proc/sys/{}", name.replace('.', "/")), name)?;
    let number: i64 = value.parse().ok()?;
    let meaning = meanings.iter().find(|(most, _)| number <= *most);
    Some(Setting {
        name: name.clone(),
        meaning: meaning.map_or_else(String::new, |(_, meaning)| meaning.clone()),
        value,
    })
}
