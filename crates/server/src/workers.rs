//! Computes requests on threads of their own: a bounded number at a time, and a bounded number waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

use crate::failure::Failure;

/// Places for requests that compute.
pub(crate) struct Workers {
    places: Arc<Semaphore>,
    n_places: usize,
    waiting: AtomicUsize,
    max_waiting: usize,
}

/// Leaves the queue when it is dropped: the request got a place, or its client went away.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Workers {
    /// Two requests for each core, so that one computes while another waits for a thread of rayon's pool.
    pub(crate) fn new(max_waiting: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let n_places = (2 * cores).max(4);
        Self {
            places: Arc::new(Semaphore::new(n_places)),
            n_places,
            waiting: AtomicUsize::new(0),
            max_waiting,
        }
    }

    /// Number of requests that wait for a place.
    pub(crate) fn n_waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Number of requests that compute.
    pub(crate) fn n_busy(&self) -> usize {
        self.n_places - self.places.available_permits()
    }

    /// Runs a computation on a thread that may block. A panic in it is an error of this request alone.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        compute: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let place = match self.places.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(_) => {
                if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.max_waiting {
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                    return Err(Failure::Busy);
                }
                let _waiting = Waiting(&self.waiting);
                self.places.clone().acquire_owned().await.map_err(|_| Failure::Internal)?
            }
        };
        // The place is held until the computation ends, even if the client goes away.
        let done = tokio::task::spawn_blocking(move || {
            let result = compute();
            drop(place);
            result
        });
        done.await.unwrap_or_else(|error| {
            tracing::error!(error = %error, "a request panicked");
            Err(Failure::Internal)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_are_refused_and_survive_panics() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        runtime.block_on(async {
            let workers = Arc::new(Workers::new(1));
            let (release, gate) = std::sync::mpsc::channel::<()>();
            let gate = Arc::new(std::sync::Mutex::new(gate));
            let occupy =
                |workers: Arc<Workers>, gate: Arc<std::sync::Mutex<std::sync::mpsc::Receiver<()>>>| {
                    tokio::spawn(async move {
                        workers
                            .run(move || {
                                let _ = gate.lock().unwrap().recv();
                                Ok(())
                            })
                            .await
                    })
                };
            let n = workers.n_places;
            let running: Vec<_> = (0..=n).map(|_| occupy(workers.clone(), gate.clone())).collect();
            while workers.n_waiting() < 1 {
                tokio::task::yield_now().await;
            }
            assert_eq!(workers.n_busy(), n);
            assert_eq!(workers.run(|| Ok(())).await, Err(Failure::Busy));
            (0..=n).for_each(|_| release.send(()).unwrap());
            for request in running {
                assert_eq!(request.await.unwrap(), Ok(()));
            }
            assert_eq!(
                workers.run(|| -> Result<(), Failure> { panic!("a panic of the test") }).await,
                Err(Failure::Internal)
            );
            assert_eq!(workers.run(|| Ok(7)).await, Ok(7));
            assert_eq!((workers.n_busy(), workers.n_waiting()), (0, 0));
        });
    }
}
