//! Queues of the kernel that fill.

use super::{cable, device};
use io::AfPacket;
use testkit::netns::Namespace;
use testkit::rig::Rig;

#[test]
fn that_the_kernel_begins_to_drop_is_told_once() {
    let Some((_turn, [here, there])) = Namespace::some("a short queue") else { return };
    cable((&here, "h0"), (&there, "t0"), 1500);
    let mut sender = there.enter(|| Rig::new(device("t0"), &["input"], &[]));
    let mut rig =
        here.enter(|| Rig::new(AfPacket { queue: Some("4KB".to_owned()), ..device("h0") }, &[], &["output"]));
    let mut frame = vec![0; 1000];
    frame[..14].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    let mut send = |count: usize| {
        (0..count).for_each(|_| sender.send("input", &frame));
        sender.breathe();
    };
    // The first that is sent after a device was switched on may be lost.
    send(500);
    for _ in 0..3 {
        send(500);
        rig.advance(200_000_000);
        rig.breathe();
    }
    let received = rig.received("output").len() as u64;
    let lost = rig.counter("kernel_drops");
    assert!(lost > 0 && received > 0 && received < 500, "{received} received, {lost} lost");
    assert_eq!(rig.counter("copies"), received);
    let told: Vec<String> = rig.notices().into_iter().map(|notice| notice.text).collect();
    assert_eq!(
        told.iter().filter(|text| text.contains("the kernel has begun to drop")).count(),
        1,
        "{told:?}"
    );
    // With a longer queue, nothing is lost; after some time without losses, they are told again.
    here.enter(|| rig.reconfigure(AfPacket { queue: Some("4MB".to_owned()), ..device("h0") }));
    rig.breathe();
    let before = rig.counter("kernel_drops");
    send(500);
    rig.advance(200_000_000);
    (0..20).for_each(|_| rig.breathe());
    assert_eq!(rig.counter("kernel_drops"), before);
    assert!(rig.received("output").len() >= 500);
    let device = rig.report().apps["app"].device.clone().unwrap();
    assert_eq!((device.mode.as_str(), device.queues), ("packet socket, the kernel copies", 1), "{device:?}");
}
