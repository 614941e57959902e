//! Things that have something in common, together.

/// Groups in the order in which the first of each comes.
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
