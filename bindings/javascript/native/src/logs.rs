//! Forwards the log of the Rust client, and the ends of its attempts, to functions of JavaScript.

use crate::records::write_record;
use crate::runtime::Threads;
use napi::bindgen_prelude::{FnArgs, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode::NonBlocking};
use napi::{Result, Status};
use serde_json::json;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use tracing::{Dispatch, Level, Metadata, level_filters::LevelFilter};
use tracing_subscriber::fmt::MakeWriter;
use voice_calling::Builder;

type Args = FnArgs<(String, String)>;

/// A function of JavaScript that takes lines of a log: a level and a text. It does not keep the
/// environment from ending.
type Line = ThreadsafeFunction<(String, String), (), Args, Status, false, true>;

/// Where the lines of a client go: a function, or stderr once there is none.
#[derive(Clone)]
pub(crate) struct Log {
    function: Option<Arc<Line>>,
    threads: Threads,
}

impl Log {
    pub(crate) fn new(function: Option<Function<'_, Args, ()>>, threads: Threads) -> Result<Self> {
        Ok(Self {
            function: function.map(|it| weak(&it)).transpose()?.map(Arc::new),
            threads,
        })
    }

    /// Returns the subscriber of the client's events: warnings and errors, and the lines of
    /// `VOICE_CALLING_LOG` if it is set.
    pub(crate) fn dispatch(&self, is_verbose: bool) -> Dispatch {
        let level = match is_verbose {
            true => LevelFilter::INFO,
            false => LevelFilter::WARN,
        };
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_level(false)
            .with_target(false)
            .without_time()
            .with_ansi(false)
            .with_writer(self.clone());
        Dispatch::new(subscriber.finish())
    }

    fn line(&self, level: Level, text: &str) {
        let (level, text) = (level.as_str().to_ascii_lowercase(), text.trim());
        let is_over = self.threads.is_over.load(Relaxed);
        if let Some(function) = self.function.as_ref().filter(|_| !is_over)
            && function.call((level.clone(), text.to_owned()), NonBlocking) == Status::Ok
        {
            return;
        }
        // There is no one to report an error of stderr to.
        let _ = writeln!(io::stderr(), "voice-calling: {level}: {text}");
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Writer<'a>;

    fn make_writer(&'a self) -> Writer<'a> {
        Writer {
            log: self,
            level: Level::INFO,
        }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Writer<'a> {
        Writer {
            log: self,
            level: *metadata.level(),
        }
    }
}

/// Takes a line at a time.
pub(crate) struct Writer<'a> {
    log: &'a Log,
    level: Level,
}

impl Write for Writer<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.log.line(self.level, &String::from_utf8_lossy(line));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Has the ends of all attempts reported to a function, as JSON.
pub(crate) fn on_attempt(
    builder: Builder,
    function: &Function<'_, FnArgs<(String, String)>, ()>,
) -> Result<Builder> {
    let function = Arc::new(weak(function)?);
    Ok(builder.on_attempt(move |outgoing| {
        let (method, path) = (outgoing.method, outgoing.path_and_query.to_owned());
        let (function, item, began) = (function.clone(), outgoing.item, Instant::now());
        move |ended| {
            let attempt = json!({
                "method": method,
                "path": path,
                "index": item,
                "status": ended.status,
                "transport_error": ended.error,
                "duration_ms": began.elapsed().as_millis() as u64,
            });
            function.call(("attempt".to_owned(), write_record(&attempt)), NonBlocking);
        }
    }))
}

fn weak(function: &Function<'_, Args, ()>) -> Result<Line> {
    let function = function.build_threadsafe_function::<(String, String)>();
    let function = function.weak::<true>().callee_handled::<false>();
    function.build_callback(|call| Ok(FnArgs::from(call.value)))
}
