//! Which side of a download had no more to give.

/// From this share of the window on, a side could not have done more.
const FULL_SHARE: f64 = 0.95;

/// The sides that were busy all the time; the server's share is `None` where it is not known.
pub(super) fn full_sides(client_share: f64, server_share: Option<f64>) -> Vec<&'static str> {
    let sides = [("client", Some(client_share)), ("server", server_share)];
    let is_full = |share: Option<f64>| share.is_some_and(|share| share >= FULL_SHARE);
    let full = sides.into_iter().filter(|(_, share)| is_full(*share));
    full.map(|(side, _)| side).collect()
}
