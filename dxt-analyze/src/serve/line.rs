//! Queue of requests, which are answered one at a time, newest first: a user who zooms no longer needs the earlier views.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

#[derive(Debug, Default)]
pub(crate) struct Line(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    busy: bool,
    /// Waiting requests, oldest first. The channel of a canceled request is closed.
    all: Vec<oneshot::Sender<Turn>>,
}

/// Permission for one request to scan the traces. When it is dropped, the next request gets the permission.
#[derive(Debug)]
pub(crate) struct Turn(Option<Arc<Line>>);

impl Line {
    /// Waits until this request may scan the traces. Canceled requests are skipped.
    pub(crate) async fn turn(self: &Arc<Self>) -> Turn {
        loop {
            let waits = {
                let mut waiting = self.waiting();
                if !waiting.busy {
                    waiting.busy = true;
                    return Turn(Some(Arc::clone(self)));
                }
                let (gives, waits) = oneshot::channel();
                waiting.all.push(gives);
                waits
            };
            if let Ok(turn) = waits.await {
                return turn;
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(line) = self.0.take() else { return };
        let mut turn = Turn(Some(Arc::clone(&line)));
        // The lock is not held while sending: a permission that cannot be received is dropped, which calls this function again.
        loop {
            let next = {
                let mut waiting = line.waiting();
                let next = waiting.all.pop();
                waiting.busy = next.is_some();
                next
            };
            let Some(next) = next else {
                turn.0 = None;
                return;
            };
            match next.send(turn) {
                Ok(()) => return,
                Err(back) => turn = back,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn look<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        tokio::select! {
            biased;
            out = future => Some(out),
            () = std::future::ready(()) => None,
        }
    }

    #[tokio::test]
    async fn the_newest_is_next_and_who_gave_up_is_passed_over() {
        let line = Arc::new(Line::default());
        let first = line.turn().await;
        let mut waiting: Vec<_> = (0..4).map(|_| Box::pin(line.turn())).collect();
        for one in &mut waiting {
            assert!(look(one).await.is_none(), "two have the turn");
        }
        // The newest request is canceled.
        drop(waiting.pop());
        drop(first);
        let third = look(&mut waiting[2]).await.expect("the newest that still waits");
        assert!(look(&mut waiting[0]).await.is_none() && look(&mut waiting[1]).await.is_none());
        drop(third);
        // The request that now has the permission is never polled: dropping it passes the permission on.
        drop(waiting.remove(1));
        let oldest = look(&mut waiting[0]).await.expect("the last");
        drop(oldest);
        assert!(look(&mut Box::pin(line.turn())).await.is_some(), "somebody still has it");
    }
}
