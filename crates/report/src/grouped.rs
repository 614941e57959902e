//! Groups items that have something in common.

/// Groups items by `key`, in the order of each group's first item.
pub(crate) fn grouped<T, K: PartialEq>(
    all: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for one in all {
        let of = key(&one);
        match groups.iter_mut().find(|(other, _)| *other == of) {
            Some((_, group)) => group.push(one),
            None => groups.push((of, vec![one])),
        }
    }
    groups
}
