//! Instances that have many calls in flight, which takes a component for WASI 0.3.

pub mod batch;

use crate::calls::batch::Streaming;
use crate::guest::abandoned::bodies_of_current_call;
use crate::guest::capabilities::Guest;
use crate::guest::in_flight::{Caller, InFlight, alive};
use crate::guest::limits::MemoryBytes;
use crate::guest::settings::{InstanceSettings, Stderr};
use crate::load::kind::GuestKind;
use crate::load::plugin::types::*;
use crate::load::plugin::{Called, OnWasi, Plugin, with_functions};
use crate::load::sandbox::Running;
use crate::network::Network;
use anyhow::{Result, anyhow, ensure};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use http::{Request, Response};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use wasmtime::component::{
    Accessor, ComponentNamedList, GuestTaskId, Lift, Lower, TypedFunc, TypedFuncCallConcurrent,
};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// How many calls are on their way into an instance; those behind them wait elsewhere.
const QUEUE: usize = 64;

/// A call on its way into the instance.
type Job = Box<dyn for<'a> FnOnce(&'a Accessor<Guest>) -> BoxFuture<'a, ()> + Send>;

/// An instance with many calls in flight. Clones are the same instance, which goes when the
/// last of them is dropped and no call is left.
///
/// A call whose future is dropped is abandoned: the request that it has open ends at once
/// (its connection is closed, with HTTP/2 its stream), also while its answer is read, and it
/// begins no other. If it had begun creates, its caller does not know whether they were
/// processed, and a warning in the log says so, whatever the recorder keeps. What the guest kept for the
/// call it gives back at its next step, which is at the latest when the pause ends that it
/// makes; until then the call counts among those in flight.
///
/// It takes [`crate::Limits::calls`] at once; the others wait for their turn, in order.
///
/// A trap of one call ends the instance with all its calls: each of them returns an error
/// that says so, and so does every later one. A create that was open then may have been
/// processed.
#[derive(Clone)]
pub struct SharedInstance {
    jobs: mpsc::Sender<Job>,
    functions: Arc<Functions>,
    memory: MemoryBytes,
    stderr: Stderr,
    ended: watch::Receiver<Option<String>>,
}

impl Plugin {
    /// A fresh instance for many calls, which runs as a task of the present tokio runtime.
    ///
    /// # Errors
    ///
    /// If the component is for WASI 0.2, on which an instance has one call at a time: use
    /// a [`crate::Pool`], or the component for WASI 0.3.
    pub async fn share(&self, mut settings: InstanceSettings) -> Result<SharedInstance> {
        ensure!(
            self.kind() == GuestKind::V0_3,
            "an instance of a component for {} runs one call at a time: use one instance for each call in flight, or the component for {} (voice-calling-p3.wasm)",
            self.kind(),
            GuestKind::V0_3,
        );
        let most = settings.limits.calls.get();
        settings.outgoing.network = Arc::new(AnswersOfCalls(settings.outgoing.network));
        let mut instance = self.instantiate_on_wasi(settings).await?;
        let functions = Arc::new(Functions::of(&mut instance)?);
        let memory = instance.running.memory.clone();
        let stderr = instance.running.stderr.clone();
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (end, ended) = watch::channel(None);
        tokio::spawn(async move {
            let ended = match run(instance, queue, most).await {
                Ok(()) => "its last handle was dropped".to_owned(),
                Err(error) => format!("{error:#}"),
            };
            end.send_replace(Some(ended));
        });
        Ok(SharedInstance {
            jobs,
            functions,
            memory,
            stderr,
            ended,
        })
    }
}

/// A network whose answers end with their calls.
struct AnswersOfCalls(Arc<dyn Network>);

impl Network for AnswersOfCalls {
    fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>> {
        let sending = self.0.send(request, options);
        let awaited = bodies_of_current_call();
        Box::pin(async move { sending.await.map(|response| response.map(awaited)) })
    }
}

/// Runs calls, so many at once at most, until there are no handles and no calls left, or one
/// of them traps.
async fn run(instance: OnWasi, mut queue: mpsc::Receiver<Job>, most: usize) -> Result<()> {
    let mut running = instance.running;
    let store = alive(&mut running.store)?;
    let computing = running.computing.clone();
    let counted = computing.clone();
    let calls = store.run_concurrent(async |accessor| {
        let mut calls = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                Some(()) = calls.next(), if !calls.is_empty() => counted.begin_stretch(),
                job = queue.recv(), if calls.len() < most => match job {
                    Some(job) => calls.push(job(accessor)),
                    None => break,
                },
            }
        }
        while calls.next().await.is_some() {
            counted.begin_stretch();
        }
    });
    Ok(computing.count_each_stretch(calls).await?)
}

/// Begins a call. What it sends is its caller's until [`end`].
fn begin<P, R>(
    accessor: &Accessor<Guest>,
    function: TypedFunc<P, R>,
    arguments: P,
    in_flight: &Arc<InFlight>,
) -> wasmtime::Result<(TypedFuncCallConcurrent<Guest, P, R>, GuestTaskId)>
where
    P: ComponentNamedList + Lower + Send + Sync + 'static,
    R: ComponentNamedList + Lift + Send + Sync + 'static,
{
    accessor.with(|mut access| {
        let call = function.start_call_concurrent(&mut access, arguments)?;
        let task = call.task();
        access.data_mut().calls.begin(task, in_flight);
        Ok((call, task))
    })
}

fn end(accessor: &Accessor<Guest>, task: GuestTaskId, in_flight: &Arc<InFlight>) {
    accessor.with(|mut access| access.data_mut().calls.end(task, in_flight));
}

/// A call, from its beginning to its end, whether anybody waits for it or not.
async fn call<P, R>(
    accessor: &Accessor<Guest>,
    function: TypedFunc<P, (R,)>,
    arguments: P,
    in_flight: Arc<InFlight>,
) -> wasmtime::Result<R>
where
    P: ComponentNamedList + Lower + Send + Sync + 'static,
    R: Lift + Send + Sync + 'static,
    (R,): ComponentNamedList + Lift,
{
    let (call, task) = begin(accessor, function, arguments, &in_flight)?;
    let returned = function.finish_call_concurrent(accessor, call).await;
    end(accessor, task, &in_flight);
    returned.map(|(returned,)| returned)
}

/// What a shared instance has for each function.
macro_rules! shared_functions {
    ($($name:ident = $full_name:literal ($($argument:ident: $given:ty as $taken:ty),*) -> $returned:ty;)+) => {
        /// The functions of an instance.
        struct Functions {
            $($name: TypedFunc<($($taken,)*), (Result<$returned, RequestError>,)>,)+
            create_dockets_v2: Streaming,
        }

        impl Functions {
            fn of(instance: &mut OnWasi) -> Result<Self> {
                let Running { store, instance: component, .. } = &mut instance.running;
                let store = alive(store)?;
                let places = &instance.places;
                let create_dockets_v2 = places.create_dockets_v2;
                Ok(Self {
                    $($name: component.get_typed_func(&mut *store, places.$name)?,)+
                    create_dockets_v2: component.get_typed_func(&mut *store, create_dockets_v2)?,
                })
            }
        }

        impl SharedInstance {
            $(
                #[doc = concat!("`", $full_name, "`")]
                pub async fn $name(&self, $($argument: $given),*) -> Called<$returned> {
                    self.call($full_name, self.functions.$name, ($($argument.to_owned(),)*)).await
                }
            )+
        }
    };
}

with_functions!(shared_functions);

impl SharedInstance {
    async fn call<P, R>(
        &self,
        name: &'static str,
        function: TypedFunc<P, (R,)>,
        arguments: P,
    ) -> Result<R>
    where
        P: ComponentNamedList + Lower + Send + Sync + 'static,
        R: Lift + Send + Sync + 'static,
        (R,): ComponentNamedList + Lift,
    {
        let caller = Caller::of(name);
        let in_flight = caller.call().clone();
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |accessor| {
            Box::pin(async move {
                // Or nobody waits for it any more, and it has not begun.
                if !answer.is_closed() {
                    let returned = call(accessor, function, arguments, in_flight).await;
                    let _nobody_waits = answer.send(returned);
                }
            })
        });
        let returned = self.returned(job, answered).await;
        caller.has_heard();
        returned
    }

    /// Gives the instance a job and waits for what it returns.
    async fn returned<R>(
        &self,
        job: Job,
        answered: oneshot::Receiver<wasmtime::Result<R>>,
    ) -> Result<R> {
        let returned = match self.jobs.send(job).await {
            Ok(()) => answered.await.ok(),
            Err(_) => None,
        };
        match returned {
            Some(returned) => Ok(returned?),
            None => Err(self.ending().await),
        }
    }

    /// Why it takes no calls any more.
    async fn ending(&self) -> anyhow::Error {
        let mut ended = self.ended.clone();
        let reason = match ended.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            Err(_) => {
                "its task is gone: the host panicked in it, or the runtime has ended".to_owned()
            }
        };
        anyhow!(
            "the instance has ended, and all its calls with it; a create that was open may \
             have been processed: {reason}"
        )
    }

    /// What it wrote to stderr, where that is kept ([`Stderr::kept`]); else nothing. After it
    /// has ended too.
    pub fn stderr(&self) -> String {
        self.stderr.contents()
    }

    /// How large its linear memories are. They never shrink, so that this is also the most
    /// that all its calls together ever used.
    pub fn memory_bytes(&self) -> usize {
        self.memory.get()
    }

    /// Whether it can be given calls: none trapped.
    pub fn is_sound(&self) -> bool {
        self.ended.borrow().is_none() && !self.jobs.is_closed()
    }
}
