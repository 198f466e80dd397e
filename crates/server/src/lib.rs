//! The HTTP service of matchrank: search, reranking, explanations, live documents, and events that models learn from.
//!
//! ```text
//! listen    connections: TLS, limits, timeouts, draining
//!   -> guard    keys, Host and Origin, headers of every response
//!     -> routes   own routes;   compat   routes of other services
//!       -> workers   a bounded number of requests compute at a time
//!         -> fleet     models and documents, swapped as a whole
//!         -> writing   document changes and events, durable in the store
//! ```
//!
//! A request reads one snapshot of models and documents from start to end. Document changes and model activations make a
//! new snapshot and swap it in, so no request waits for them and none sees half a change.
//!
//! [`start`] opens the dataset and the models; [`Running::serve`] answers requests until it is told to stop. Two modules are
//! of use without the service:
//!
//! | module | content |
//! |---|---|
//! | [`store`] | events and document changes on disk, acknowledged when durable |
//! | [`learning`] | events of clients, models that learn from them while serving, and the export back to `ingest` |

mod body;
mod candidate;
mod catalogue;
mod compat;
mod failure;
mod finding;
mod fleet;
mod guard;
mod identity;
mod keys;
pub mod learning;
mod ledger;
mod listed;
mod listen;
mod logging;
mod metrics;
mod openapi;
mod page;
mod parts;
mod ranking;
mod relevance;
mod routes;
mod sample;
mod service;
mod settings;
mod spans;
pub mod store;
mod timed_stream;
mod version;
mod workers;
mod writing;

pub use keys::Keys;
pub use listen::{Running, start};
pub use logging::log_to_standard_error;
pub use settings::{ModelSetting, ServiceSettings};
