//! The names of cipher suites.

use rustls::SupportedCipherSuite;
use rustls::crypto::aws_lc_rs;

/// Prefix of rustls's names of TLS 1.3 suites, where the registry of IANA has `TLS_`.
const OWN_PREFIX: &str = "TLS13_";

/// The cipher suites that can be chosen, by their names at IANA.
pub fn cipher_names() -> Vec<String> {
    aws_lc_rs::ALL_CIPHER_SUITES.iter().map(name).collect()
}

/// The name of a cipher suite at IANA.
pub(super) fn name(suite: &SupportedCipherSuite) -> String {
    let own = format!("{:?}", suite.suite());
    match own.strip_prefix(OWN_PREFIX) {
        Some(rest) => format!("TLS_{rest}"),
        None => own,
    }
}
