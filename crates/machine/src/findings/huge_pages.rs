//! Whether the kernel makes huge pages unasked.

use model::finding::Finding;

use super::{Subject, costly, fine};

const NAME: &str = "huge-pages";
const FILE: &str = "sys/kernel/mm/transparent_hugepage/enabled";

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    Some(judge(subject.tree.text(FILE).as_deref()))
}

fn judge(enabled: Option<&str>) -> Finding {
    let Some(enabled) = enabled else {
        let what = "This kernel makes no transparent huge pages.";
        return fine(NAME, what, "there is no transparent_hugepage/enabled");
    };
    let evidence = format!("transparent_hugepage/enabled: {enabled}");
    if !enabled.contains("[always]") {
        return fine(
            NAME,
            "Huge pages are made only for programs that ask for them.",
            evidence,
        );
    }
    costly("huge-pages", NAME, "Huge pages are made unasked.", evidence)
}

#[cfg(test)]
mod tests {
    use model::finding::Severity;

    use super::*;

    #[test]
    fn only_always_is_told() {
        assert_eq!(
            judge(Some("[always] madvise never")).severity,
            Severity::Notice
        );
        assert_eq!(
            judge(Some("always [madvise] never")).severity,
            Severity::Fine
        );
        assert_eq!(judge(None).severity, Severity::Fine);
    }
}
