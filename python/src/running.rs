//! Runs long work without the lock of the interpreter, so that other threads of Python go on, progress is shown and Ctrl-C
//! ends it.
//!
//! Work runs on a pool of threads of the package's own. The calling thread waits, and every 50 ms it looks for signals and
//! hands the progress to `matchrank._progress`. After a signal the next report of progress ends the work by unwinding, which
//! removes temporary files. Work that reports nothing for a while is left to itself: the exception does not wait for it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use matchrank_core::progress::{Progress, Remaining};
use matchrank_core::{Error, Result};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::{exception, parameter};

/// Time between two looks for signals.
const TICK: Duration = Duration::from_millis(50);
/// Time after which progress is shown.
const PATIENCE: Duration = Duration::from_millis(400);
/// Time that interrupted work is given to clean up.
const FAREWELL: Duration = Duration::from_millis(700);
/// Stack of a thread: that of a main thread, on which the command line works.
const STACK: usize = 8 << 20;
/// Most threads of a pool, as on the command line.
const MOST_THREADS: usize = 256;

/// The pool, with the number of threads that was asked for (0 means all cores) and the process that it belongs to.
struct Pool {
    wanted: usize,
    process: u32,
    threads: Option<Arc<ThreadPool>>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { wanted: 0, process: 0, threads: None });

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the pool. Threads do not survive a fork, so the child of one gets a pool of its own.
fn pool() -> Result<Arc<ThreadPool>> {
    let mut pool = locked(&POOL);
    let process = std::process::id();
    if pool.process != process
        && let Some(of_parent) = pool.threads.take()
    {
        // Its threads are not there to be joined.
        std::mem::forget(of_parent);
    }
    if let Some(threads) = &pool.threads {
        return Ok(threads.clone());
    }
    let built = ThreadPoolBuilder::new()
        .num_threads(pool.wanted)
        .stack_size(STACK)
        .thread_name(|number| format!("matchrank-{number}"))
        .build();
    let built =
        Arc::new(built.map_err(|error| Error::Params(format!("threads cannot be started: {error}")))?);
    (pool.threads, pool.process) = (Some(built.clone()), process);
    Ok(built)
}

/// Sets the number of threads of all work that begins from now on; 0 means all cores.
#[pyfunction]
pub(crate) fn set_threads(py: Python<'_>, n: usize) -> PyResult<()> {
    if n > MOST_THREADS {
        return Err(parameter(
            py,
            format!("{n} threads are too many; at most {MOST_THREADS}, 0 for all cores"),
        ));
    }
    let former = {
        let mut pool = locked(&POOL);
        pool.wanted = n;
        pool.threads.take()
    };
    py.detach(|| drop(former));
    Ok(())
}

/// Number of threads that work runs on.
#[pyfunction]
pub(crate) fn threads(py: Python<'_>) -> PyResult<usize> {
    pool().map(|pool| pool.current_num_threads()).map_err(|error| exception(py, &error))
}

/// State that work shares with the thread that waits for it.
#[derive(Default)]
pub(crate) struct Shared {
    is_cancelled: AtomicBool,
    done: AtomicU64,
    stage: Mutex<Stage>,
    notes: Mutex<Vec<String>>,
}

#[derive(Default, Clone)]
struct Stage {
    number: u64,
    name: String,
    total: Option<u64>,
    unit: String,
    remaining: Option<Remaining>,
}

/// Payload by which cancelled work unwinds.
struct Cancelled;

impl Shared {
    /// Returns true once a signal has asked the work to end.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    fn end_if_cancelled(&self) {
        if self.is_cancelled() {
            // Without the message of a panic.
            resume_unwind(Box::new(Cancelled));
        }
    }
}

impl Progress for Shared {
    fn begin(&self, stage: &str, total: Option<u64>, unit: &str) {
        self.end_if_cancelled();
        let mut current = locked(&self.stage);
        self.done.store(0, Ordering::Relaxed);
        current.number += 1;
        (current.name, current.total, current.unit) = (stage.to_owned(), total, unit.to_owned());
    }

    fn advance(&self, n: u64) {
        self.end_if_cancelled();
        self.done.fetch_add(n, Ordering::Relaxed);
    }

    fn note(&self, message: &str) {
        self.end_if_cancelled();
        locked(&self.notes).push(message.to_owned());
    }

    fn whole(&self, remaining: Option<Remaining>) {
        locked(&self.stage).remaining = remaining;
    }
}

/// Outcome of work: its result, or the payload of its panic.
type Outcome<T> = std::result::Result<Result<T>, Box<dyn Any + Send>>;

/// Runs work on the pool and waits for it without the lock of the interpreter.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Shared) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    run_beside(py, work, || Ok(()))
}

/// Runs work on the pool while this thread does something else with the lock of the interpreter. The work must end soon if
/// `beside` fails, whose exception is raised then.
pub(crate) fn run_beside<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Shared) -> Result<T> + Send + 'static,
    beside: impl FnOnce() -> PyResult<()>,
) -> PyResult<T> {
    let pool = pool().map_err(|error| exception(py, &error))?;
    let shared = Arc::new(Shared::default());
    let (done, mut waiting) = channel::<Outcome<T>>();
    let own = shared.clone();
    pool.spawn(move || {
        // Nobody waits for work that was left to itself.
        let _ = done.send(catch_unwind(AssertUnwindSafe(|| work(&own))));
    });
    if let Err(error) = beside() {
        let _ = wait(py, &mut waiting, FAREWELL);
        return Err(error);
    }
    let began = Instant::now();
    let (mut display, mut shows): (Option<Bound<'_, PyAny>>, bool) = (None, true);
    let outcome = loop {
        match wait(py, &mut waiting, TICK) {
            Ok(outcome) => break outcome,
            Err(RecvTimeoutError::Disconnected) => break Err(Box::new("the work was dropped") as Box<_>),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let told = py.check_signals().and_then(|()| match shows && began.elapsed() > PATIENCE {
            true => show(py, &mut display, &shared),
            false => Ok(()),
        });
        if let Err(signal) = told {
            // A display that fails, such as a terminal that was closed, does not end hours of work.
            if signal.is_instance_of::<PyException>(py) {
                shows = false;
                continue;
            }
            shared.is_cancelled.store(true, Ordering::Relaxed);
            let _ = wait(py, &mut waiting, FAREWELL);
            close(&display);
            return Err(signal);
        }
    };
    close(&display);
    let notes = std::mem::take(&mut *locked(&shared.notes));
    if !notes.is_empty() {
        py.import("matchrank._progress")?.call_method1("note", (notes,))?;
    }
    match outcome {
        Ok(result) => result.map_err(|error| exception(py, &error)),
        Err(panic) => Err(internal(py, &*panic)),
    }
}

/// Waits for the outcome of work without the lock of the interpreter.
fn wait<T: Send>(
    py: Python<'_>,
    outcome: &mut Receiver<T>,
    time: Duration,
) -> std::result::Result<T, RecvTimeoutError> {
    py.detach(move || outcome.recv_timeout(time))
}

/// Hands the progress to the display, which is made when it is needed.
fn show<'py>(py: Python<'py>, display: &mut Option<Bound<'py, PyAny>>, shared: &Shared) -> PyResult<()> {
    let display = match display {
        Some(display) => display,
        None => display.insert(py.import("matchrank._progress")?.call_method0("display")?),
    };
    let Stage { number, name, total, unit, remaining } = locked(&shared.stage).clone();
    let remaining = remaining.and_then(|remaining| remaining()).map(|time| time.as_secs_f64());
    let done = shared.done.load(Ordering::Relaxed);
    display.call_method1("update", (number, name, done, total, unit, remaining)).map(|_| ())
}

fn close(display: &Option<Bound<'_, PyAny>>) {
    if let Some(display) = display {
        // A display that cannot be closed does no harm.
        let _ = display.call_method0("close");
    }
}

fn internal(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let message = match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(message), _) => message.as_str(),
        (_, Some(message)) => message,
        _ => "unknown",
    };
    let build = || -> PyResult<PyErr> {
        let class = py.import("matchrank.errors")?.getattr("InternalError")?;
        let text =
            format!("a rule of the program itself is broken; please report it with what you did: {message}");
        Ok(PyErr::from_value(class.call1((text,))?))
    };
    build().unwrap_or_else(|error| error)
}
