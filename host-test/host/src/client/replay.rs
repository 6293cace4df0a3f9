//! Plays a history again, on the text module of the guest, and compares what comes of it.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use std::fmt;
use std::io::BufRead;
use wasmtime::{
    Engine, Instance, Linker, Memory, Module, Store, StoreLimits, StoreLimitsBuilder, TypedFunc,
};

/// What the module may grow to.
const MEMORY_BYTES: usize = 1 << 30;

/// How much of a value is shown.
const SHOWN_CHARACTERS: usize = 200;

/// What came of a history that was played again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// How many instances there were.
    pub instances: usize,
    /// How many steps were taken until the end, or the first difference.
    pub steps: usize,
    /// The first difference; none where everything was the same.
    pub difference: Option<Difference>,
}

/// Where a history and its replay differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line of the history, from 1.
    pub line: usize,
    /// Where in what came of it, such as `effects[0].Send.request.url`.
    pub place: String,
    /// What the history has there.
    pub recorded: String,
    /// What came now.
    pub found: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            place,
            recorded,
            found,
        } = self;
        write!(
            formatter,
            "line {line}: {place}: recorded {recorded}, found {found}"
        )
    }
}

/// Plays histories again on the text module (`target/voice-calling-sans-io.wasm`).
pub struct Replayer {
    engine: Engine,
    module: Module,
}

impl Replayer {
    /// Compiles the module.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn new(module: &[u8]) -> Result<Self> {
        let engine = Engine::default();
        let module = Module::new(&engine, module)
            .map_err(anyhow::Error::from)
            .context("the text module")?;
        Ok(Self { engine, module })
    }

    /// Plays a history again, up to the first difference.
    ///
    /// # Errors
    ///
    /// If it is none: the error names the line.
    pub fn replay(&self, history: impl BufRead) -> Result<Replayed> {
        let mut replayed = Replayed {
            instances: 0,
            steps: 0,
            difference: None,
        };
        let mut player = None;
        for (index, text) in history.lines().enumerate() {
            let line = index + 1;
            let text = text.with_context(|| format!("line {line}"))?;
            if text.trim().is_empty() {
                continue;
            }
            let recorded: Map<String, Value> = serde_json::from_str(&text)
                .with_context(|| format!("line {line} is not a line of a history"))?;
            if let Some(configure) = recorded.get("configure") {
                let mut instance = Player::new(&self.engine, &self.module)?;
                replayed.instances += 1;
                let configured = instance.configure(configure);
                understood(line, &configured.with_context(|| format!("line {line}"))?)?;
                player = Some(instance);
                continue;
            }
            let Some(step) = recorded.get("step") else {
                bail!("line {line} has neither `configure` nor `step`");
            };
            let Some(instance) = &mut player else {
                bail!("line {line} is a step of an instance that was not configured");
            };
            replayed.steps += 1;
            let found = match instance.step(step) {
                Ok(stepped) => {
                    understood(line, &stepped)?;
                    json!({ "stepped": stepped })
                }
                Err(trap) => {
                    player = None;
                    json!({ "trapped": format!("{trap:#}") })
                }
            };
            let expected =
                json!({ "stepped": recorded.get("stepped"), "trapped": recorded.get("trapped") });
            replayed.difference = difference(line, &expected, &found);
            if replayed.difference.is_some() {
                break;
            }
        }
        Ok(replayed)
    }
}

/// Refuses what the module refuses: it is not a history.
fn understood(line: usize, answer: &Value) -> Result<()> {
    match &answer["misuse"] {
        Value::Null => Ok(()),
        misuse => bail!("line {line}: the module rejected it: {misuse}"),
    }
}

/// An instance of the module.
struct Player {
    store: Store<StoreLimits>,
    memory: Memory,
    input: TypedFunc<u32, u32>,
    configure: TypedFunc<u32, u32>,
    step: TypedFunc<u32, u32>,
}

impl Player {
    fn new(engine: &Engine, module: &Module) -> Result<Self> {
        let limits = StoreLimitsBuilder::new().memory_size(MEMORY_BYTES);
        let mut store = Store::new(engine, limits.trap_on_grow_failure(true).build());
        store.limiter(|limits| limits);
        // It imports nothing.
        let instance = Linker::new(engine).instantiate(&mut store, module)?;
        let function = |store: &mut Store<_>, instance: &Instance, name: &str| {
            instance.get_typed_func::<u32, u32>(store, name)
        };
        Ok(Self {
            memory: instance
                .get_memory(&mut store, "memory")
                .context("the module has no memory")?,
            input: function(&mut store, &instance, "input")?,
            configure: function(&mut store, &instance, "configure")?,
            step: function(&mut store, &instance, "step")?,
            store,
        })
    }

    fn configure(&mut self, configure: &Value) -> Result<Value> {
        let function = self.configure.clone();
        self.call(&function, configure)
    }

    fn step(&mut self, step: &Value) -> Result<Value> {
        let function = self.step.clone();
        self.call(&function, step)
    }

    fn call(&mut self, function: &TypedFunc<u32, u32>, input: &Value) -> Result<Value> {
        let json = input.to_string();
        let bytes = u32::try_from(json.len()).context("a line that is too long")?;
        let store = &mut self.store;
        let at = self.input.call(&mut *store, bytes)?;
        self.memory
            .write(&mut *store, at as usize, json.as_bytes())?;
        let at = function.call(&mut *store, bytes)? as usize;
        let memory = self.memory.data(&*store);
        let output = memory.get(at..).and_then(|output| {
            let (length, rest) = output.split_first_chunk()?;
            rest.get(..u32::from_le_bytes(*length) as usize)
        });
        let output = output.context("the module's answer is not in its memory")?;
        Ok(serde_json::from_slice(output)?)
    }
}

fn difference(line: usize, expected: &Value, found: &Value) -> Option<Difference> {
    // What a trap says is not the same everywhere.
    let [recorded_trap, found_trap] = [expected, found].map(|it| &it["trapped"]);
    if recorded_trap.is_null() != found_trap.is_null() {
        let says = |trap: &Value| match trap {
            Value::Null => "no trap".to_owned(),
            trap => shown(trap),
        };
        return Some(Difference {
            line,
            place: "trapped".to_owned(),
            recorded: says(recorded_trap),
            found: says(found_trap),
        });
    }
    let place = first_difference(&expected["stepped"], &found["stepped"])?;
    Some(Difference {
        line,
        place: place.path.trim_start_matches('.').to_owned(),
        recorded: place.recorded,
        found: place.found,
    })
}

struct Place {
    path: String,
    recorded: String,
    found: String,
}

fn first_difference(recorded: &Value, found: &Value) -> Option<Place> {
    let within =
        |step: String, recorded: Option<&Value>, found: Option<&Value>| match (recorded, found) {
            (Some(recorded), Some(found)) => {
                let mut place = first_difference(recorded, found)?;
                place.path.insert_str(0, &step);
                Some(place)
            }
            (recorded, found) => {
                let shown = |it: Option<&Value>| it.map_or("nothing".to_owned(), shown);
                Some(Place {
                    path: step,
                    recorded: shown(recorded),
                    found: shown(found),
                })
            }
        };
    match (recorded, found) {
        (Value::Object(recorded), Value::Object(found)) => {
            let names = recorded.keys().chain(found.keys());
            let mut places =
                names.map(|name| within(format!(".{name}"), recorded.get(name), found.get(name)));
            places.find_map(|place| place)
        }
        (Value::Array(recorded), Value::Array(found)) => {
            let count = recorded.len().max(found.len());
            let mut places = (0..count)
                .map(|index| within(format!("[{index}]"), recorded.get(index), found.get(index)));
            places.find_map(|place| place)
        }
        (recorded, found) if recorded == found => None,
        (recorded, found) => Some(Place {
            path: String::new(),
            recorded: shown(recorded),
            found: shown(found),
        }),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
