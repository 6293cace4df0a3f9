//! The thread that writes the file of a ledger.

use super::digest::DigestKey;
use super::file::{self, BUSY_PAUSE, LedgerFile};
use super::hold;
use super::rows::Rows;
use super::store::{LOST, log_unobserved, observe};
use super::{Change, Reply};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::{io, iter};
use tokio::sync::oneshot;
use voice_calling_core::ledger::ObservedDocket;

/// Writes a file. Clones share it; the file is closed with the last one.
#[derive(Clone)]
pub(super) struct Writer(Arc<Shared>);

struct Shared {
    path: PathBuf,
    digest_key: DigestKey,
    jobs: Option<Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

/// Something to do within a transaction.
pub(super) trait Job: Send {
    /// Does it. It may be done again if the transaction fails.
    fn run(&mut self, rows: &Rows<'_, '_>) -> rusqlite::Result<()>;

    /// Reports that it is on disk, or why it is not.
    fn finish(self: Box<Self>, committed: Result<(), String>);
}

/// A job with a result.
struct Work<T, W, D> {
    work: W,
    result: Option<T>,
    done: D,
}

impl<T, W, D> Job for Work<T, W, D>
where
    T: Send,
    W: FnMut(&Rows<'_, '_>) -> rusqlite::Result<T> + Send,
    D: FnOnce(Result<T, String>) + Send,
{
    fn run(&mut self, rows: &Rows<'_, '_>) -> rusqlite::Result<()> {
        self.result = Some((self.work)(rows)?);
        Ok(())
    }

    fn finish(self: Box<Self>, committed: Result<(), String>) {
        let Self { result, done, .. } = *self;
        done(committed.map(|()| result.expect("a job that is committed has run")));
    }
}

impl Writer {
    pub(super) fn start(path: PathBuf, file: LedgerFile) -> io::Result<Self> {
        let (jobs, receiver) = channel();
        let digest_key = file.digest_key().clone();
        let thread = thread::Builder::new().name("voice-calling-ledger".to_owned());
        let its_path = path.clone();
        let thread = thread.spawn(move || write(&its_path, file, &receiver))?;
        Ok(Self(Arc::new(Shared {
            path,
            digest_key,
            jobs: Some(jobs),
            thread: Some(thread),
        })))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0.path
    }

    pub(super) fn digest_key(&self) -> &DigestKey {
        &self.0.digest_key
    }

    /// Changes the entry of a key. The reply comes once the entry is on disk.
    pub(super) fn update(
        &self,
        key: String,
        mut change: Change,
        done: impl FnOnce(Result<Reply, String>) + Send + 'static,
    ) {
        self.submit(move |rows| rows.change(&key, &mut change), done);
    }

    /// Resolves unknown outcomes by a docket, in the background.
    pub(super) fn observe(&self, docket: ObservedDocket) {
        let (digest_key, unobserved) = (self.digest_key().clone(), docket.clone());
        let observe = move |rows: &Rows<'_, '_>| {
            for key in &docket.keys {
                let is_of_another_key = rows.is_of_another_key(&docket.docket_id, key)?;
                rows.change(key, |entry| {
                    observe(entry, &docket, &digest_key, is_of_another_key)
                })?;
            }
            Ok(())
        };
        self.submit(observe, move |observed| {
            if let Err(error) = observed {
                log_unobserved(&unobserved, &error);
            }
        });
    }

    /// Does something within a transaction, even if the future is dropped, which waits until it is
    /// on disk. The error names the file.
    pub(super) fn commit<T, W>(
        &self,
        work: W,
    ) -> impl Future<Output = Result<T, String>> + use<T, W>
    where
        T: Send + 'static,
        W: FnMut(&Rows<'_, '_>) -> rusqlite::Result<T> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        self.submit(work, |result| drop(sender.send(result)));
        async { receiver.await.unwrap_or_else(|_| Err(LOST.to_owned())) }
    }

    fn submit<T: Send + 'static>(
        &self,
        work: impl FnMut(&Rows<'_, '_>) -> rusqlite::Result<T> + Send + 'static,
        done: impl FnOnce(Result<T, String>) + Send + 'static,
    ) {
        let job = Box::new(Work {
            work,
            result: None,
            done,
        });
        if let Some(jobs) = &self.0.jobs {
            // If the thread has panicked, the job is dropped, and its caller learns that.
            let _ = jobs.send(job);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        drop(self.jobs.take());
        let thread = self.thread.take();
        // The thread itself may drop the last clone.
        let thread = thread.filter(|it| it.thread().id() != thread::current().id());
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// Commits jobs until there are no more senders. Those that have queued up are committed together;
/// if that fails, each alone, so that one does not fail for what another one has met.
fn write(path: &Path, file: LedgerFile, jobs: &Receiver<Box<dyn Job>>) {
    let mut statements = None;
    while let Ok(first) = jobs.recv() {
        let mut together: Vec<_> = iter::once(first).chain(jobs.try_iter()).collect();
        let committed = match file.commit(&mut statements, &mut together) {
            Err(_) if together.len() > 1 => None,
            committed => Some(committed),
        };
        let has_waited = matches!(committed, Some(Ok(true)));
        for mut job in together {
            let committed = match &committed {
                Some(Ok(_)) => Ok(()),
                Some(Err(error)) => Err(file::found(path, &**error)),
                None => match file.commit(&mut statements, std::slice::from_mut(&mut job)) {
                    Ok(_) => Ok(()),
                    Err(error) => Err(file::found(path, &*error)),
                },
            };
            if let Err(error) = &committed {
                tracing::error!("the ledger could not be written: {error}");
            }
            job.finish(committed);
        }
        if has_waited {
            thread::sleep(BUSY_PAUSE);
        }
    }
    let _in_use = hold::in_use();
    drop(statements);
    drop(file);
}
