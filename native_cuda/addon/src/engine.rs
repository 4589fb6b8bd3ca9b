//! An engine, and those of its methods that are Node's own: promises of what a thread works on. The others are generated
//! from `src/session/surface.idl`.

use crate::values::{Values, fail};
use leastwise::session::wire::{self, State};
use leastwise::session::{Session, Threaded};
use napi::bindgen_prelude::{Env, Result, ToNapiValue, Unknown};
use napi_derive::napi;

/// An engine: what it is asked for is done on the calling thread, what it is given time for on a thread of its own.
#[napi]
pub struct Engine {
    session: Threaded,
    adapter: String,
}

impl Engine {
    pub fn new(session: Threaded, adapter: String) -> Self {
        Self { session, adapter }
    }

    pub(crate) fn post(&self, work: impl FnOnce(&mut Session) + Send + 'static) {
        self.session.post(work);
    }

    pub(crate) fn call<T>(&self, env: &Env, work: impl FnOnce(&mut Session) -> std::result::Result<T, leastwise::Error>) -> Result<T> {
        self.session.call(work).map_err(|failure| fail(env, failure))
    }
}

#[napi]
impl Engine {
    #[napi(getter)]
    pub fn adapter(&self) -> String {
        self.adapter.clone()
    }

    /// Why there are no double-floats.
    #[napi(getter)]
    pub fn doubles(&self) -> String {
        leastwise::device::NO_NEED_OF_DOUBLES.into()
    }

    /// Nothing that JavaScript could draw from lies here.
    #[napi]
    pub fn view_table(&self, _problem: u32, _table: u32, _width: u32) {}

    /// Nothing that JavaScript could draw from lies here.
    #[napi]
    pub fn view_normals(&self, _normals: u32) {}

    /// Nothing that JavaScript could draw from lies here.
    #[napi]
    pub fn tensor_view(&self, _tensor: u32) {}

    /// Either what the task has come to since it was resumed last, or a promise of that.
    #[napi]
    pub fn resume<'env>(&self, env: &'env Env, task: u32, budget_ms: f64) -> Result<Unknown<'env>> {
        let Some(outcome) = self.session.outcome(task) else {
            let (deferred, promise) = env.create_deferred()?;
            self.session.resume(task, budget_ms, move || deferred.resolve(|_| Ok(())));
            return wire::with(&Values(env), &State::Waiting, [("ready", promise.into_unknown(env)?)]);
        };
        wire::progress(&Values(env), outcome.map_err(|failure| fail(env, failure))?)
    }

    #[napi]
    pub fn abort(&self, task: u32) {
        self.session.abort(task);
    }

    #[napi]
    pub fn cancel(&self, task: u32) {
        self.session.cancel(task);
    }

    #[napi]
    pub fn dispose(&self) {
        self.session.dispose();
    }
}
