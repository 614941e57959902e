//! What this process may do, and which settings say so.

use model::inventory::{Permissions, Setting};

use super::look::Look;
use super::tables::{Meanings, TABLES, named_bits};

pub(super) fn collect(look: &Look) -> Permissions {
    let status = look
        .text("proc/self/status", "permissions")
        .unwrap_or_default();
    let after = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let user = after("Uid:").and_then(|ids| ids.split_whitespace().nth(1));
    Permissions {
        is_root: user == Some("0"),
        capabilities: capabilities(after("CapEff:").unwrap_or_default()),
        settings: TABLES
            .setting
            .iter()
            .filter_map(|setting| read(look, setting))
            .collect(),
    }
}

fn capabilities(hexadecimal: &str) -> Vec<String> {
    let bits = u64::from_str_radix(hexadecimal.trim(), 16).unwrap_or(0);
    named_bits(&TABLES.capabilities, bits)
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
