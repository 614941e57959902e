//! The beginning of every request about a network device: its name (netdevice(7)).

/// Makes a request about a device, with nothing but its name; what is longer than a name can be is
/// cut.
pub(crate) fn request(name: &str) -> libc::ifreq {
    // SAFETY: an all-zero ifreq is valid: an empty name and nothing asked.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    request
}
