//! Tests of the courier with a destination that refuses items.

use super::*;
use std::sync::atomic::{AtomicBool, Ordering};

struct Door {
    open: Arc<AtomicBool>,
    came: Arc<Mutex<Vec<u32>>>,
}

impl Carrier for Door {
    type Item = u32;

    fn carry(&mut self, items: &[u32], _lost: u64) -> Result<(), Refused> {
        if items.contains(&13) {
            return Err(Refused::ForGood(anyhow::anyhow!("thirteen")));
        }
        if !self.open.load(Ordering::SeqCst) {
            return Err(Refused::ForNow(anyhow::anyhow!("closed")));
        }
        self.came.lock().unwrap().extend(items);
        Ok(())
    }
}

#[test]
fn what_waits_is_bounded_and_the_rest_arrives_in_order() {
    let (open, came) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
    let courier = Courier::new(10, Door { open: open.clone(), came: came.clone() }).unwrap();
    courier.give([1]);
    while courier.messages().is_empty() {
        std::thread::yield_now();
    }
    // The first item is being sent, so the queue has room for ten more.
    courier.give(100..125);
    courier.settle();
    assert!(courier.is_behind());
    assert_eq!(courier.lost(), 15);
    open.store(true, Ordering::SeqCst);
    courier.end();
    assert_eq!(*came.lock().unwrap(), [&[1], &(115..125).collect::<Vec<_>>()[..]].concat());
    assert_eq!((courier.is_behind(), courier.lost()), (false, 15));
    assert!(courier.messages()[0].contains("15 calls or sums were dropped"));
}

#[test]
fn what_is_refused_for_good_holds_up_nothing() {
    let (open, came) = (Arc::new(AtomicBool::new(true)), Arc::new(Mutex::new(Vec::new())));
    let courier = Courier::new(10, Door { open, came: came.clone() }).unwrap();
    courier.give([11, 12, 13, 14, 15]);
    courier.end();
    assert_eq!((came.lock().unwrap().clone(), courier.lost()), (vec![11, 12, 14, 15], 1));
}

/// Destination that records the number of items of each batch.
struct Counter(Arc<AtomicBool>, Arc<Mutex<Vec<usize>>>);

impl Carrier for Counter {
    type Item = u32;

    fn carry(&mut self, items: &[u32], _lost: u64) -> Result<(), Refused> {
        if !self.0.load(Ordering::SeqCst) {
            return Err(Refused::ForNow(anyhow::anyhow!("closed")));
        }
        self.1.lock().unwrap().push(items.len());
        Ok(())
    }
}

#[test]
fn what_is_to_be_reported_beside_things_is_no_thing_and_cannot_be_dropped() {
    let (open, came) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
    let courier = Courier::new(2, Counter(open.clone(), came.clone())).unwrap();
    courier.nudge();
    while courier.messages().is_empty() {
        std::thread::yield_now();
    }
    assert!(courier.is_behind());
    courier.give([1, 2]);
    courier.nudge();
    courier.give([3]);
    assert_eq!(courier.lost(), 1);
    open.store(true, Ordering::SeqCst);
    courier.end();
    assert_eq!((came.lock().unwrap().clone(), courier.is_behind(), courier.lost()), (vec![0, 2], false, 1));
}
