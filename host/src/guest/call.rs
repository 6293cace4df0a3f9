//! A call, which takes its instance with it unless it returns.

use super::capabilities::Guest;
use super::in_flight::Caller;
use anyhow::{Context, Result};
use std::borrow::Cow;
use wasmtime::Store;

const ENDED: &str = "the instance has ended: one of its calls trapped or was dropped";

/// The store of an instance that has not ended.
pub(crate) fn alive(place: &mut Option<Store<Guest>>) -> Result<&mut Store<Guest>> {
    place.as_mut().context(ENDED)
}

/// A call of an instance. Unless it returns, the instance goes with it,
/// and with the instance all that the call has open: nothing else would end that before the
/// instance is dropped, and on WASI 0.3 the call would go on at the next one.
pub(crate) struct Call<'a> {
    pub(crate) store: Store<Guest>,
    place: &'a mut Option<Store<Guest>>,
    caller: Caller,
}

impl<'a> Call<'a> {
    /// Of a function of the instance in this place.
    pub(crate) fn begin(
        place: &'a mut Option<Store<Guest>>,
        function: impl Into<Cow<'static, str>>,
    ) -> Result<Self> {
        let mut store = place.take().context(ENDED)?;
        let caller = store.data_mut().begin_call(function);
        Ok(Self {
            store,
            place,
            caller,
        })
    }

    /// The caller hears what came of it.
    pub(crate) fn end<T>(self, returned: wasmtime::Result<T>) -> wasmtime::Result<T> {
        self.caller.has_heard();
        if returned.is_ok() {
            *self.place = Some(self.store);
        }
        returned
    }
}
