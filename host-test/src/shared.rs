//! Instances that have many calls in flight, which takes a component for WASI 0.3.

use crate::abandoned::Abandoned;
use crate::capabilities::Guest;
use crate::network::Network;
use crate::plugin::types::*;
use crate::plugin::{Called, Instance, Plugin, with_functions};
use crate::sandbox::{InstanceSettings, Running};
use crate::turnstile::Turnstile;
use crate::wasi::Wasi;
use anyhow::{Result, anyhow, ensure};
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use http::{Request, Response};
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use wasmtime::component::{Accessor, ComponentNamedList, Lift, Lower, TypedFunc};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// A call on its way into the instance.
type Job = Box<dyn for<'a> FnOnce(&'a Accessor<Guest>) -> BoxFuture<'a, ()> + Send>;

/// An instance with many calls in flight. Clones are the same instance, which goes when the
/// last of them is dropped and no call is left.
///
/// A call whose future is dropped is abandoned: the request that it has open ends at once
/// (the connection is closed), and it begins no other. If that request was a create,
/// nobody knows whether it was processed, and a warning in the log says so; the recorder has the
/// exchange. What the guest kept for the call it gives back at its next step, which is
/// at the latest when the pause ends that it makes.
///
/// A trap of one call ends the instance with all its calls: each of them returns an error
/// that says so, and so does every later one. A create that was open then may have been
/// processed.
#[derive(Clone)]
pub struct SharedInstance {
    jobs: mpsc::UnboundedSender<Job>,
    functions: Arc<Functions>,
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
            self.wasi() == Wasi::V0_3,
            "an instance of a component for {} has one call at a time: many calls in flight \
             take an instance each, or the component for {} (voice-calling-p3.wasm)",
            self.wasi(),
            Wasi::V0_3,
        );
        let answers = Turnstile::default();
        settings.outgoing.network = Arc::new(AnswersInTurn {
            network: settings.outgoing.network,
            answers: answers.clone(),
        });
        let mut instance = self.instantiate(settings).await?;
        let functions = Arc::new(Functions::of(&mut instance)?);
        let (jobs, queue) = mpsc::unbounded_channel();
        let (end, ended) = watch::channel(None);
        tokio::spawn(async move {
            let ended = match run(instance, queue, answers).await {
                Ok(()) => "its last handle was dropped".to_owned(),
                Err(error) => format!("{error:#}"),
            };
            end.send_replace(Some(ended));
        });
        Ok(SharedInstance {
            jobs,
            functions,
            ended,
        })
    }
}

/// A network whose answers come to the guest a few at a time.
struct AnswersInTurn {
    network: Arc<dyn Network>,
    answers: Turnstile,
}

impl Network for AnswersInTurn {
    fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>> {
        let sending = self.network.send(request, options);
        let answers = self.answers.clone();
        Box::pin(async move {
            let sent = sending.await;
            answers.pass().await;
            sent
        })
    }
}

/// Runs calls until there are no handles and no calls left, or one of them traps.
async fn run(
    instance: Instance,
    mut queue: mpsc::UnboundedReceiver<Job>,
    answers: Turnstile,
) -> Result<()> {
    let mut running = instance.running;
    let computing = running.computing.clone();
    let counted = computing.clone();
    // One of their own, so that new calls do not stand behind thousands of answers.
    let entrance = Turnstile::default();
    let calls = running.store.run_concurrent(async |accessor| {
        let mut calls = FuturesUnordered::new();
        let mut has_passed = false;
        loop {
            tokio::select! {
                job = next(&mut queue, &entrance, &mut has_passed) => match job {
                    Some(job) => calls.push(job(accessor)),
                    None => break,
                },
                Some(()) = calls.next(), if !calls.is_empty() => counted.begin_stretch(),
            }
        }
        while calls.next().await.is_some() {
            counted.begin_stretch();
        }
    });
    let calls = computing.count_each_stretch(calls);
    Ok(entrance.drive(answers.drive(calls)).await?)
}

/// The next call, let in for the first time. If this is dropped before, nothing is lost.
async fn next(
    queue: &mut mpsc::UnboundedReceiver<Job>,
    entrance: &Turnstile,
    has_passed: &mut bool,
) -> Option<Job> {
    if !*has_passed {
        entrance.pass().await;
        *has_passed = true;
    }
    let job = queue.recv().await;
    *has_passed = false;
    job
}

/// A call, from its beginning to its answer, or to its end if nobody waits for it.
async fn call<P, R>(
    accessor: &Accessor<Guest>,
    function: TypedFunc<P, (R,)>,
    arguments: P,
    mut answer: oneshot::Sender<wasmtime::Result<R>>,
) where
    P: ComponentNamedList + Lower + Send + Sync + 'static,
    R: Lift + Send + Sync + 'static,
    (R,): ComponentNamedList + Lift,
{
    if answer.is_closed() {
        return;
    }
    let begun = accessor.with(|mut access| {
        let call = function.start_call_concurrent(&mut access, arguments)?;
        let task = call.task();
        let abandoned: Abandoned = access.data_mut().in_flight.begin(task);
        wasmtime::Result::Ok((call, task, abandoned))
    });
    let (call, task, abandoned) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            let _nobody_waits = answer.send(Err(error));
            return;
        }
    };
    let mut returned = pin!(function.finish_call_concurrent(accessor, call));
    let returned = match select(&mut returned, pin!(answer.closed())).await {
        Either::Left((returned, _)) => returned,
        Either::Right(_) => {
            let _only_once = abandoned.set(());
            returned.await
        }
    };
    accessor.with(|mut access| access.data_mut().in_flight.end(task, &abandoned));
    let _nobody_waits = answer.send(returned.map(|(returned,)| returned));
}

/// What a shared instance has for each function.
macro_rules! shared_functions {
    ($($name:ident = $full_name:literal ($($argument:ident: $given:ty as $taken:ty),*) -> $returned:ty;)+) => {
        /// The functions of an instance.
        struct Functions {
            $($name: TypedFunc<($($taken,)*), (Result<$returned, RequestError>,)>,)+
        }

        impl Functions {
            fn of(instance: &mut Instance) -> wasmtime::Result<Self> {
                let Running { store, instance: component, .. } = &mut instance.running;
                Ok(Self {
                    $($name: component.get_typed_func(&mut *store, instance.places.$name)?,)+
                })
            }
        }

        impl SharedInstance {
            $(
                #[doc = concat!("`", $full_name, "`")]
                pub async fn $name(&self, $($argument: $given),*) -> Called<$returned> {
                    self.call(self.functions.$name, ($($argument.to_owned(),)*)).await
                }
            )+
        }
    };
}

with_functions!(shared_functions);

impl SharedInstance {
    async fn call<P, R>(&self, function: TypedFunc<P, (R,)>, arguments: P) -> Result<R>
    where
        P: ComponentNamedList + Lower + Send + Sync + 'static,
        R: Lift + Send + Sync + 'static,
        (R,): ComponentNamedList + Lift,
    {
        let (answer, answered) = oneshot::channel();
        let job: Job =
            Box::new(move |accessor| Box::pin(call(accessor, function, arguments, answer)));
        if self.jobs.send(job).is_ok()
            && let Ok(returned) = answered.await
        {
            return Ok(returned?);
        }
        Err(self.ending().await)
    }

    /// Why it takes no calls any more.
    async fn ending(&self) -> anyhow::Error {
        let mut ended = self.ended.clone();
        let reason = match ended.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            Err(_) => "the runtime that it ran on is gone".to_owned(),
        };
        anyhow!(
            "the instance has ended, and all its calls with it; a create that was open may \
             have been processed: {reason}"
        )
    }

    /// How large its linear memories are. They never shrink, so that this is also the most
    /// that all its calls together ever used.
    pub async fn memory_bytes(&self) -> Result<usize> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |accessor| {
            Box::pin(async move {
                let bytes = accessor.with(|mut access| access.data_mut().memory_bytes());
                let _nobody_waits = answer.send(bytes);
            })
        });
        if self.jobs.send(job).is_ok()
            && let Ok(bytes) = answered.await
        {
            return Ok(bytes);
        }
        Err(self.ending().await)
    }

    /// Whether it can be given calls: none trapped.
    pub fn is_sound(&self) -> bool {
        self.ended.borrow().is_none() && !self.jobs.is_closed()
    }
}

/// Calls spread over several instances, in turn: what traps ends only those on its own.
pub struct SharedPool {
    plugin: Plugin,
    settings: Box<dyn Fn() -> InstanceSettings + Send + Sync>,
    instances: Vec<Mutex<Option<SharedInstance>>>,
    turn: AtomicUsize,
}

impl SharedPool {
    /// A pool of so many instances. They are made when they are first asked for, and again
    /// after a trap, each with the settings that `settings` gives.
    pub fn new(
        plugin: Plugin,
        instances: NonZeroUsize,
        settings: impl Fn() -> InstanceSettings + Send + Sync + 'static,
    ) -> Self {
        Self {
            plugin,
            settings: Box::new(settings),
            instances: (0..instances.get()).map(|_| Mutex::default()).collect(),
            turn: AtomicUsize::new(0),
        }
    }

    /// The instance whose turn it is. One that has ended is replaced.
    pub async fn instance(&self) -> Result<SharedInstance> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut place = self.instances[turn % self.instances.len()].lock().await;
        if let Some(instance) = place.as_ref().filter(|instance| instance.is_sound()) {
            return Ok(instance.clone());
        }
        let instance = self.plugin.share((self.settings)()).await?;
        Ok(place.insert(instance).clone())
    }
}
