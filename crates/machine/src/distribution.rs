//! Which distribution this is, and which ones it derives from; its packages follow from that.

use crate::tree::{Tree, behind};

/// The `ID` of this machine's distribution, followed by those of `ID_LIKE` with the closest
/// relative first (os-release(5)). Empty where there is no such file.
pub fn ids() -> Vec<String> {
    ids_from(&Tree::of_this_machine())
}

fn ids_from(tree: &Tree) -> Vec<String> {
    let text = tree.text("etc/os-release").unwrap_or_default();
    let value = |key: &str| {
        behind(&text, key)
            .unwrap_or_default()
            .trim_matches(['"', '\''])
    };
    [value("ID="), value("ID_LIKE=")]
        .into_iter()
        .flat_map(str::split_whitespace)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted::Planted;

    #[test]
    fn the_distribution_comes_before_those_it_takes_after() {
        let text = "NAME=\"openSUSE\"\nID=\"opensuse-leap\"\nVERSION_ID=\"15\"\nID_LIKE=\"suse opensuse\"\n";
        let planted = Planted::new("distribution", &[("etc/os-release", text)]);
        assert_eq!(
            ids_from(&planted.tree),
            ["opensuse-leap", "suse", "opensuse"]
        );
        let empty = Planted::new("no-distribution", &[]);
        assert!(ids_from(&empty.tree).is_empty());
    }
}
