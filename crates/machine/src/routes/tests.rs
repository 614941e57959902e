//! Routes that our kernel never had, parsed from the bytes in which it would report them.

use super::*;

/// `default via 10.0.0.1 dev 2 proto dhcp metric 100`, with further attributes.
fn route(more: impl FnOnce(&mut Vec<u8>)) -> Route {
    let mut payload = vec![AF_INET, 0, 0, 0, 254, 16, 0, UNICAST];
    // RTNH_F_ONLINK, and RTNH_F_LINKDOWN, which only reports the state.
    payload.extend(20_u32.to_ne_bytes());
    push_bytes(&mut payload, GATEWAY, &[10, 0, 0, 1]);
    push_bytes(&mut payload, DEVICE, &2_u32.to_ne_bytes());
    push_bytes(&mut payload, PRIORITY, &100_u32.to_ne_bytes());
    more(&mut payload);
    Route::parse(&payload).unwrap()
}

fn with_metrics(metrics: &[(u16, u32)]) -> Route {
    route(|payload| {
        push_attribute(payload, METRICS, |value| {
            for (kind, number) in metrics {
                push_bytes(value, *kind, &number.to_ne_bytes());
            }
        });
    })
}

#[test]
fn a_metric_is_set_beside_the_others_and_taken_away_again() {
    // The lock of the MTU, an MTU, and an initial window.
    let before = with_metrics(&[(1, 4), (2, 1400), (11, 20)]);
    let set = before.with_metric(14, 30);
    assert_eq!(
        (set.metric(14), set.metric(2), set.metric(11)),
        (30, 1400, 20)
    );
    assert_eq!(set.with_metric(14, 0), before);
    let words = "default metric 100 via 10.0.0.1 dev eth0 proto dhcp scope global onlink \
                 mtu lock 1400 initcwnd 20 initrwnd 30";
    assert_eq!(set.words("eth0"), words);
}

#[test]
fn each_feature_of_a_route_is_kept_and_told_by_its_name() {
    // RTAX_FEATURES with ECN and microseconds in TCP's timestamps, and ECN alone.
    let features = [
        (0x11, "ecn tcp_usec_ts"),
        (1, "ecn"),
        (0x12, "tcp_usec_ts 0x2"),
    ];
    for (bits, words) in features {
        let set = with_metrics(&[(12, bits)]).with_metric(11, 30);
        assert_eq!(set.metric(12), bits);
        let told = set.words("eth0");
        assert!(
            told.ends_with(&format!("features {words} initcwnd 30")),
            "{told}"
        );
    }
}

#[test]
fn a_route_that_leads_nowhere_is_of_no_device() {
    let mut route = route(|_| {});
    assert!(route.leads_through(2));
    // RTN_BLACKHOLE
    route.header[7] = 6;
    assert!(!route.leads_through(2));
}

#[test]
fn a_route_without_metrics_has_none_again() {
    let before = route(|_| {});
    assert_eq!(before.with_metric(11, 30).with_metric(11, 0), before);
    assert_eq!(before.obstacle(), None);
}

#[test]
fn a_route_of_several_ways_is_known_by_each_of_its_devices_and_refused() {
    let several = route(|payload| {
        push_attribute(payload, MULTIPATH, |value| {
            for device in [7_u32, 8] {
                // struct rtnexthop: length, flags, weight, device; then RTA_GATEWAY.
                value.extend(16_u16.to_ne_bytes());
                value.extend([0, 0]);
                value.extend(device.to_ne_bytes());
                push_bytes(value, GATEWAY, &[10, 0, 0, 2]);
            }
        });
    });
    assert!(several.leads_through(7) && several.leads_through(8) && !several.leads_through(9));
    assert!(several.obstacle().unwrap().contains("several next hops"));
    let cut_short = route(|payload| push_bytes(payload, MULTIPATH, &[0; 9]));
    assert!(!cut_short.leads_through(7));
}

#[test]
fn a_route_with_what_we_do_not_know_is_refused() {
    // RTA_NH_ID.
    let object = route(|payload| push_bytes(payload, 30, &1_u32.to_ne_bytes()));
    assert!(object.obstacle().unwrap().contains("attribute 30"));
}
