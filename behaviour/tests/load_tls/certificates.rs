//! Certificates for servers under test: of a CA, its own, expired, for another name.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

use crate::common::Folder;

/// A CA that signs the other certificates.
pub(crate) struct Authority(Issuer<'static, KeyPair>);

impl Authority {
    /// Leaves `NAME.pem` in the folder, for a CA with the common name `called`.
    pub(crate) fn new(folder: &Folder, name: &str, called: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let names = &mut parameters.distinguished_name;
        names.push(DnType::CommonName, called);
        let certificate = parameters.self_signed(&key).unwrap();
        write(folder, name, &certificate.pem());
        Self(Issuer::new(parameters, key))
    }

    /// Leaves `NAME.pem` and `NAME.key` in the folder, for these names or addresses.
    pub(crate) fn sign(&self, folder: &Folder, name: &str, good_for: &[&str]) {
        self.sign_with(folder, name, good_for, |_| ());
    }

    /// A certificate that is long out of date.
    pub(crate) fn sign_expired(&self, folder: &Folder, name: &str) {
        self.sign_with(folder, name, &["127.0.0.1"], |parameters| {
            parameters.not_before = date_time_ymd(2001, 2, 3);
            parameters.not_after = date_time_ymd(2004, 5, 6);
        });
    }

    fn sign_with(
        &self,
        folder: &Folder,
        name: &str,
        good_for: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) {
        let key = KeyPair::generate().unwrap();
        let mut parameters = parameters(good_for);
        change(&mut parameters);
        let certificate = parameters.signed_by(&key, &self.0).unwrap();
        write(folder, name, &certificate.pem());
        write_key(folder, name, &key);
    }
}

/// Leaves a certificate that vouches for itself, and its key; `is_ca` makes it one of a CA, as
/// `openssl req -x509` does.
pub(crate) fn self_signed(folder: &Folder, name: &str, is_ca: bool) {
    let key = KeyPair::generate().unwrap();
    let mut parameters = parameters(&["127.0.0.1"]);
    if is_ca {
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let certificate = parameters.self_signed(&key).unwrap();
    write(folder, name, &certificate.pem());
    write_key(folder, name, &key);
}

/// A file in the folder, as an argument.
pub(crate) fn file(folder: &Folder, name: &str) -> String {
    folder.path().join(name).to_str().unwrap().to_owned()
}

fn parameters(good_for: &[&str]) -> CertificateParams {
    let names: Vec<String> = good_for.iter().map(ToString::to_string).collect();
    CertificateParams::new(names).unwrap()
}

fn write(folder: &Folder, name: &str, pem: &str) {
    std::fs::write(folder.path().join(format!("{name}.pem")), pem).unwrap();
}

fn write_key(folder: &Folder, name: &str, key: &KeyPair) {
    let path = folder.path().join(format!("{name}.key"));
    std::fs::write(path, key.serialize_pem()).unwrap();
}
