//! The cache of compiled components: what it keeps, and what it does not trust.
#![cfg(unix)]

use sha2::{Digest, Sha256};
use std::fs::{self, File, Permissions};
use std::io::{Write, stderr};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, SystemTime};
use tempfile::{TempDir, tempdir};
use voice_calling_host::load::cache::{Origin, Reason};
use voice_calling_host::types::{DocketCompleted, RequestError};
use voice_calling_host::{
    Allocation, CompiledCache, InMemoryNetwork, InstanceSettings, Loading, Outgoing, Plugin,
};
use wasmtime::component::{Component, Linker};
use wasmtime::{Config, Engine, ModuleVersionStrategy, Store};

/// What the files of this cache begin with: the magic and three hashes.
const HEADER_BYTES: usize = 35 + 3 * 32;

/// A user that these tests do not run as.
const SOMEBODY: u32 = 12_345;

/// The components that `cargo xtask build` makes, for WASI 0.2 and for 0.3.
const COMPONENTS: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/../target/voice-calling.wasm"),
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../target/voice-calling-p3.wasm"
    ),
];

/// A component whose function `number` returns a number; quick to compile.
fn component_of(number: u32) -> Vec<u8> {
    let text = format!(
        r#"(component
            (core module $module (func (export "number") (result i32) (i32.const {number})))
            (core instance $instance (instantiate $module))
            (func (export "number") (result u32)
                (canon lift (core func $instance "number"))))"#
    );
    wat::parse_str(text).unwrap()
}

/// What the function `number` returns.
fn number_of(engine: &Engine, component: &Component) -> u32 {
    let mut store = Store::new(engine, ());
    store.set_epoch_deadline(1);
    let instance = Linker::new(engine)
        .instantiate(&mut store, component)
        .unwrap();
    let number = instance
        .get_typed_func::<(), (u32,)>(&mut store, "number")
        .unwrap();
    number.call(&mut store, ()).unwrap().0
}

fn compiled(reason: Reason) -> Origin {
    Origin::Compiled { reason }
}

/// The names of what is in a folder.
fn entries(folder: &Path) -> Vec<String> {
    let name = |entry: Result<fs::DirEntry, _>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode_of(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

/// Whether files can be given to somebody else, which only root can. Anyone else sees
/// which test says nothing for that.
fn can_give_away(test: &str) -> bool {
    let folder = tempdir().unwrap();
    let can = chown(folder.path(), Some(SOMEBODY), None).is_ok();
    if !can {
        // Not by `eprintln!`, which is kept back for a test that passes.
        let text = format!("{test}: not tested, since only root can give files to others\n");
        stderr().write_all(text.as_bytes()).unwrap();
    }
    can
}

/// A cache in a folder of a test's own, and an engine.
struct Stage {
    // Goes with the stage.
    _parent: TempDir,
    cache: CompiledCache,
    engine: Engine,
}

impl Stage {
    fn new() -> Self {
        let parent = tempdir().unwrap();
        let cache = CompiledCache::in_folder(&parent.path().join("cache")).unwrap();
        Self {
            _parent: parent,
            cache,
            engine: Engine::default(),
        }
    }

    /// With the file of a component that returns 7.
    fn with_seven() -> Self {
        let stage = Self::new();
        assert_eq!(stage.get(7), compiled(Reason::Missing));
        stage
    }

    /// Gets the component of a number, sees that it is that one, and says where it is from.
    fn get(&self, number: u32) -> Origin {
        self.get_for(&self.engine, number)
    }

    fn get_for(&self, engine: &Engine, number: u32) -> Origin {
        let wasm = component_of(number);
        let (component, origin) = self.cache.component(engine, &wasm).unwrap();
        assert_eq!(number_of(engine, &component), number);
        origin
    }

    fn folder(&self) -> &Path {
        self.cache.folder().unwrap()
    }

    /// The only file in the folder.
    fn file(&self) -> PathBuf {
        let names = entries(self.folder());
        assert_eq!(names.len(), 1, "{names:?}");
        self.folder().join(&names[0])
    }

    /// Sees that the file is not used, replaced, and used from then on. Gives why it was
    /// not used.
    #[track_caller]
    fn seven_is_rebuilt(&self) -> Reason {
        let Origin::Compiled { reason } = self.get(7) else {
            panic!("the file was used");
        };
        assert_eq!(self.get(7), Origin::Cached, "after {reason:?}");
        let file = fs::symlink_metadata(self.file()).unwrap();
        assert!(file.is_file());
        assert_eq!(file.mode() & 0o7777, 0o600);
        assert_eq!(file.nlink(), 1);
        reason
    }

    #[track_caller]
    fn seven_is_rebuilt_as_corrupt(&self) {
        let reason = self.seven_is_rebuilt();
        assert!(matches!(reason, Reason::Corrupt(_)), "{reason:?}");
    }

    #[track_caller]
    fn seven_is_rebuilt_as_foreign(&self, found: &str) {
        match self.seven_is_rebuilt() {
            Reason::Foreign(text) => assert!(text.contains(found), "{text}"),
            reason => panic!("{reason:?}"),
        }
    }
}

/// The error of a cache in a folder, with all its causes.
#[track_caller]
fn refused(folder: &Path) -> String {
    let error = CompiledCache::in_folder(folder).expect_err("the folder is refused");
    format!("{error:#}")
}

#[track_caller]
fn assert_says(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "no {part:?} in {error:?}");
    }
}

#[test]
fn the_first_use_compiles_and_the_second_reads() {
    let stage = Stage::new();
    assert_eq!(stage.get(7), compiled(Reason::Missing));
    assert_eq!(stage.get(7), Origin::Cached);
    assert_eq!(stage.get_for(&Engine::default(), 7), Origin::Cached);
    let again = CompiledCache::in_folder(stage.folder()).unwrap();
    assert_eq!(again, stage.cache);
    assert_eq!(mode_of(&stage.file()), 0o600);
}

#[tokio::test]
async fn a_plugin_that_was_read_does_what_one_that_was_compiled_does() {
    for path in COMPONENTS.map(Path::new) {
        let parent = tempdir().unwrap();
        let loading = Loading {
            allocation: Allocation::OnDemand,
            cache: Some(CompiledCache::in_folder(parent.path()).unwrap()),
        };
        // The code is the same for each allocation, and so is the file.
        let pooling = Loading {
            allocation: Allocation::Pooling { instances: 2 },
            ..loading.clone()
        };
        let plugins = [
            Plugin::load_with(path, &loading).unwrap(),
            Plugin::load_with(path, &loading).unwrap(),
            Plugin::load_with(path, &pooling).unwrap(),
        ];
        let origins = plugins.each_ref().map(|plugin| plugin.origin().clone());
        let expected = [compiled(Reason::Missing), Origin::Cached, Origin::Cached];
        assert_eq!(origins, expected);
        assert_eq!(entries(parent.path()).len(), 1);

        let mut results = Vec::new();
        for plugin in &plugins {
            results.push(parsed(plugin).await);
        }
        assert_eq!(
            results[0].0.docket_id,
            "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11"
        );
        assert_eq!(results[1], results[0]);
        assert_eq!(results[2], results[0]);
    }
}

/// What a plugin makes of a webhook's body, and of one that is not JSON.
async fn parsed(plugin: &Plugin) -> (DocketCompleted, RequestError) {
    let completion = r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11",
        "call_insights":{"call_disposition":"INTERESTED"},
        "call_context":{"z":1,"a":[1e400,-0]},"attempts":[],"dashboard_url":null}"#;
    let nowhere = InMemoryNetwork(|_, _| async { Err(wasmtime_wasi_http::Error::LoopDetected) });
    let settings = InstanceSettings::new([("", ""); 0], Outgoing::loopback(nowhere));
    let mut instance = plugin.instantiate(settings).await.unwrap();
    let completed = instance.parse_docket_completed(completion).await.unwrap();
    let broken = instance.parse_docket_completed("{").await.unwrap();
    (completed.unwrap().unwrap(), broken.unwrap_err())
}

#[test]
fn a_plugin_without_a_cache_is_compiled() {
    let plugin = Plugin::load(COMPONENTS[0].as_ref()).unwrap();
    assert_eq!(*plugin.origin(), compiled(Reason::NoCache));
}

#[test]
fn another_component_is_another_file() {
    let stage = Stage::with_seven();
    assert_eq!(stage.get(8), compiled(Reason::Missing));
    assert_eq!(entries(stage.folder()).len(), 2);
    assert_eq!(stage.get(7), Origin::Cached);
    assert_eq!(stage.get(8), Origin::Cached);
}

#[test]
fn other_settings_of_the_engine_are_another_file() {
    let changes: [fn(&mut Config); 4] = [
        |config| _ = config.epoch_interruption(true),
        |config| _ = config.memory_reservation(1 << 20),
        |config| _ = config.wasm_multi_memory(false),
        |config| {
            _ = config
                .module_version(ModuleVersionStrategy::Custom("1".into()))
                .unwrap()
        },
    ];
    let stage = Stage::with_seven();
    for (before, change) in (1..).zip(changes) {
        let mut config = Config::new();
        change(&mut config);
        let engine = Engine::new(&config).unwrap();
        assert_eq!(stage.get_for(&engine, 7), compiled(Reason::Missing));
        assert_eq!(stage.get_for(&engine, 7), Origin::Cached);
        assert_eq!(entries(stage.folder()).len(), before + 1);
    }
    assert_eq!(stage.get(7), Origin::Cached);
}

#[test]
fn what_is_no_component_is_an_error_and_not_kept() {
    let stage = Stage::new();
    for wasm in [&b""[..], b"not a component", b"\0asm\x01\0\0\0"] {
        assert!(stage.cache.component(&stage.engine, wasm).is_err());
    }
    assert_eq!(entries(stage.folder()), [""; 0]);
}

#[test]
fn a_file_that_was_cut_off_is_rebuilt() {
    let stage = Stage::with_seven();
    let file = stage.file();
    let whole = fs::read(&file).unwrap();
    let lengths = [
        0,
        1,
        HEADER_BYTES - 1,
        HEADER_BYTES,
        HEADER_BYTES + 1,
        whole.len() - 1,
    ];
    for length in lengths {
        fs::write(&file, &whole[..length]).unwrap();
        stage.seven_is_rebuilt_as_corrupt();
    }
}

#[test]
fn a_file_with_something_behind_it_is_rebuilt() {
    let stage = Stage::with_seven();
    let file = stage.file();
    let mut longer = fs::read(&file).unwrap();
    longer.push(0);
    fs::write(&file, longer).unwrap();
    stage.seven_is_rebuilt_as_corrupt();
}

#[test]
fn a_file_in_which_a_bit_is_wrong_is_rebuilt() {
    let stage = Stage::with_seven();
    let file = stage.file();
    let whole = fs::read(&file).unwrap();
    let in_header = (0..HEADER_BYTES).step_by(5).chain([HEADER_BYTES - 1]);
    let in_payload = (HEADER_BYTES..whole.len()).step_by(whole.len() / 10);
    for (bit, position) in in_header
        .chain(in_payload)
        .chain([whole.len() - 1])
        .enumerate()
    {
        let mut wrong = whole.clone();
        wrong[position] ^= 1 << (bit % 8);
        fs::write(&file, wrong).unwrap();
        stage.seven_is_rebuilt_as_corrupt();
    }
}

#[test]
fn a_file_with_a_foreign_magic_is_rebuilt() {
    let stage = Stage::with_seven();
    let file = stage.file();
    let mut foreign = fs::read(&file).unwrap();
    // Such as another version of the format.
    assert_eq!(foreign[33], b'1');
    foreign[33] = b'2';
    fs::write(&file, &foreign).unwrap();
    stage.seven_is_rebuilt_as_corrupt();
    fs::write(&file, component_of(7)).unwrap();
    stage.seven_is_rebuilt_as_corrupt();
}

#[test]
fn a_compiled_component_without_a_header_is_rebuilt() {
    let stage = Stage::with_seven();
    let precompiled = stage.engine.precompile_component(&component_of(7)).unwrap();
    fs::write(stage.file(), precompiled).unwrap();
    stage.seven_is_rebuilt_as_corrupt();
}

#[test]
fn the_file_of_another_component_under_this_name_is_rebuilt() {
    let stage = Stage::with_seven();
    let seven = stage.file();
    fs::rename(&seven, stage.folder().join("seven")).unwrap();
    assert_eq!(stage.get(8), compiled(Reason::Missing));
    fs::remove_file(stage.folder().join("seven")).unwrap();
    fs::rename(stage.file(), seven).unwrap();
    stage.seven_is_rebuilt_as_corrupt();
}

#[test]
fn what_wasmtime_refuses_is_rebuilt() {
    let stage = Stage::with_seven();
    let file = stage.file();
    let header = fs::read(&file).unwrap()[..HEADER_BYTES - 32].to_vec();
    let mut config = Config::new();
    config.epoch_interruption(true);
    let other = Engine::new(&config).unwrap();
    let of_other = other.precompile_component(&component_of(7)).unwrap();
    for payload in [of_other, b"no machine code".to_vec()] {
        let hash = Sha256::digest(&payload);
        fs::write(&file, [&header, &hash[..], &payload].concat()).unwrap();
        let reason = stage.seven_is_rebuilt();
        assert!(matches!(reason, Reason::Refused(_)), "{reason:?}");
    }
}

#[test]
fn a_symbolic_link_in_the_place_of_the_file_is_not_followed() {
    let stage = Stage::with_seven();
    let file = stage.file();
    let elsewhere = tempdir().unwrap();
    let good = elsewhere.path().join("good");
    fs::rename(&file, &good).unwrap();
    let before = fs::read(&good).unwrap();
    symlink(&good, &file).unwrap();
    stage.seven_is_rebuilt_as_foreign("symbolic link");
    assert_eq!(fs::read(&good).unwrap(), before);
}

#[test]
fn a_symbolic_link_to_nowhere_is_replaced_and_nothing_is_made_where_it_leads() {
    let stage = Stage::with_seven();
    let file = stage.file();
    let elsewhere = tempdir().unwrap();
    fs::remove_file(&file).unwrap();
    symlink(elsewhere.path().join("nothing"), &file).unwrap();
    stage.seven_is_rebuilt_as_foreign("symbolic link");
    assert_eq!(entries(elsewhere.path()), [""; 0]);
}

#[test]
fn a_pipe_in_the_place_of_the_file_is_not_waited_for() {
    let stage = Stage::with_seven();
    let file = stage.file();
    fs::remove_file(&file).unwrap();
    let made = Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    stage.seven_is_rebuilt_as_foreign("not a regular file");
}

#[test]
fn a_file_to_which_others_may_write_is_rebuilt() {
    let stage = Stage::with_seven();
    for mode in [0o620, 0o602, 0o666, 0o777] {
        set_mode(&stage.file(), mode);
        stage.seven_is_rebuilt_as_foreign(&format!("mode {mode:04o}"));
    }
}

#[test]
fn a_file_that_others_may_read_is_used() {
    let stage = Stage::with_seven();
    set_mode(&stage.file(), 0o644);
    assert_eq!(stage.get(7), Origin::Cached);
}

#[test]
fn a_file_with_another_name_elsewhere_is_rebuilt() {
    let stage = Stage::with_seven();
    let file = stage.file();
    let elsewhere = stage.folder().parent().unwrap().join("elsewhere");
    fs::hard_link(&file, elsewhere).unwrap();
    stage.seven_is_rebuilt_as_foreign("2 hard links");
}

#[test]
fn a_file_of_somebody_else_is_rebuilt() {
    if !can_give_away("a_file_of_somebody_else_is_rebuilt") {
        return;
    }
    let stage = Stage::with_seven();
    chown(stage.file(), Some(SOMEBODY), None).unwrap();
    stage.seven_is_rebuilt_as_foreign("the user 12345");
}

#[test]
fn a_folder_is_made_with_its_parents_for_the_user_alone() {
    let parent = tempdir().unwrap();
    let folder = parent.path().join("a/b/../c");
    let cache = CompiledCache::in_folder(&folder).unwrap();
    let parent = parent.path().canonicalize().unwrap();
    assert_eq!(cache.folder(), Some(&*parent.join("a/c")));
    for made in ["a", "a/b", "a/c"] {
        assert_eq!(mode_of(&parent.join(made)), 0o700, "{made}");
    }
}

#[test]
fn a_folder_to_which_others_may_write_is_refused() {
    let parent = tempdir().unwrap();
    let folder = parent.path().join("cache");
    fs::create_dir(&folder).unwrap();
    // The sticky bit does not help: it lets others put files there.
    for mode in [0o770, 0o707, 0o777, 0o1777] {
        set_mode(&folder, mode);
        let found = format!("has mode {mode:04o}");
        let named = folder.to_str().unwrap();
        assert_says(&refused(&folder), &[named, &found, "without the bits 0022"]);
    }
    for mode in [0o700, 0o755] {
        set_mode(&folder, mode);
        CompiledCache::in_folder(&folder).unwrap();
    }
}

#[test]
fn a_folder_in_one_to_which_others_may_write_is_refused() {
    let parent = tempdir().unwrap();
    let between = parent.path().join("between");
    let folder = between.join("further/cache");
    CompiledCache::in_folder(&folder).unwrap();
    for mode in [0o770, 0o707] {
        set_mode(&between, mode);
        let found = format!("has mode {mode:04o}");
        let named = between.to_str().unwrap();
        assert_says(&refused(&folder), &[named, &found, "sticky bit (1000)"]);
    }
    set_mode(&between, 0o1777);
    CompiledCache::in_folder(&folder).unwrap();
}

#[test]
fn nothing_is_made_in_a_folder_to_which_others_may_write() {
    let parent = tempdir().unwrap();
    set_mode(parent.path(), 0o777);
    refused(&parent.path().join("cache"));
    assert_eq!(entries(parent.path()), [""; 0]);
}

#[test]
fn the_folders_on_the_way_to_a_symbolic_link_and_behind_it_are_checked() {
    let parent = tempdir().unwrap();
    let parent = parent.path().canonicalize().unwrap();
    let [links, target] = ["links", "target"].map(|name| parent.join(name));
    let folder = target.join("cache");
    CompiledCache::in_folder(&folder).unwrap();
    fs::create_dir(&links).unwrap();
    set_mode(&links, 0o755);
    let link = links.join("link");
    symlink("../target", &link).unwrap();
    let through = link.join("cache");
    let cache = CompiledCache::in_folder(&through).unwrap();
    assert_eq!(cache.folder(), Some(&*folder));

    for open in [&links, &target] {
        set_mode(open, 0o777);
        assert_says(&refused(&through), &[open.to_str().unwrap(), "mode 0777"]);
        set_mode(open, 0o755);
    }
    CompiledCache::in_folder(&through).unwrap();
}

#[test]
fn symbolic_links_in_a_circle_are_refused() {
    let parent = tempdir().unwrap();
    let link = parent.path().join("link");
    symlink("link", &link).unwrap();
    assert_says(&refused(&link), &["more than 40 symbolic links"]);
}

#[test]
fn a_folder_of_somebody_else_is_refused_and_so_is_one_within() {
    if !can_give_away("a_folder_of_somebody_else_is_refused_and_so_is_one_within") {
        return;
    }
    let parent = tempdir().unwrap();
    let theirs = parent.path().join("theirs");
    let within = theirs.join("cache");
    CompiledCache::in_folder(&within).unwrap();
    chown(&theirs, Some(SOMEBODY), None).unwrap();
    let found = format!("{} belongs to the user 12345", theirs.display());
    for folder in [&theirs, &within] {
        assert_says(&refused(folder), &[&found, "allowed: 0"]);
    }
}

#[test]
fn a_symbolic_link_of_somebody_else_is_refused() {
    if !can_give_away("a_symbolic_link_of_somebody_else_is_refused") {
        return;
    }
    let parent = tempdir().unwrap();
    let own = parent.path().join("own");
    CompiledCache::in_folder(&own).unwrap();
    let link = parent.path().join("link");
    symlink(&own, &link).unwrap();
    CompiledCache::in_folder(&link).unwrap();
    lchown(&link, Some(SOMEBODY), None).unwrap();
    let found = format!("{} belongs to the user 12345", link.display());
    assert_says(&refused(&link), &[&found, "allowed: 0"]);
}

#[test]
fn a_file_in_the_place_of_the_folder_or_on_the_way_is_refused() {
    let parent = tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    for folder in [&file, &file.join("cache")] {
        assert_says(
            &refused(folder),
            &[file.to_str().unwrap(), "is not a folder"],
        );
    }
}

#[test]
fn many_threads_at_once_leave_one_file() {
    let stage = Stage::new();
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                match stage.get(7) {
                    Origin::Cached
                    | Origin::Compiled {
                        reason: Reason::Missing,
                    } => {}
                    origin => panic!("{origin:?}"),
                }
            });
        }
    });
    assert!(stage.file().extension().is_some_and(|end| end == "cwasm"));
    assert_eq!(stage.get(7), Origin::Cached);
}

#[test]
fn many_threads_at_once_repair_a_file() {
    let stage = Stage::with_seven();
    fs::write(stage.file(), "broken").unwrap();
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                stage.get(7);
            });
        }
    });
    stage.file();
    assert_eq!(stage.get(7), Origin::Cached);
}

#[test]
fn a_component_that_cannot_be_kept_is_given_all_the_same() {
    let stage = Stage::with_seven();
    let file = stage.file();
    // Not even root can rename a file over a folder.
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    for _ in 0..2 {
        let origin = stage.get(7);
        let Origin::Compiled {
            reason: Reason::Foreign(found),
        } = origin
        else {
            panic!("{origin:?}");
        };
        assert_says(&found, &["not a regular file"]);
        assert_eq!(stage.file(), file, "no temporary file is left");
    }
    // Nor put one into a folder that is gone.
    fs::remove_dir_all(stage.folder()).unwrap();
    for _ in 0..2 {
        assert_eq!(stage.get(7), compiled(Reason::Missing));
    }
    assert!(!stage.folder().exists());
}

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Makes a file look as if it had been used for the last time so long ago.
fn set_unused(file: &Path, days: u32) {
    let used = SystemTime::now() - DAY * days;
    File::options()
        .write(true)
        .open(file)
        .unwrap()
        .set_modified(used)
        .unwrap();
}

/// How a file of the cache is named.
fn name_of(number: u8) -> String {
    let hash = format!("{number:064x}");
    format!("{hash}-{hash}.cwasm")
}

#[test]
fn what_was_not_used_for_thirty_days_goes_when_something_else_is_written() {
    let stage = Stage::with_seven();
    let seven = stage.file();
    let [month, longer] = [1, 2].map(|number| stage.folder().join(name_of(number)));
    for (file, days) in [(&month, 29), (&longer, 31), (&seven, 31)] {
        fs::write(file, fs::read(&seven).unwrap()).unwrap();
        set_unused(file, days);
    }
    // To read it is to use it.
    assert_eq!(stage.get(7), Origin::Cached);
    assert!(longer.exists(), "nothing was written");
    assert_eq!(stage.get(8), compiled(Reason::Missing));
    assert!(month.exists() && seven.exists() && !longer.exists());
    assert_eq!(stage.get(7), Origin::Cached);
}

#[test]
fn beyond_512_mib_in_total_what_was_not_used_for_the_longest_time_goes() {
    let stage = Stage::new();
    let files = [3, 1, 2].map(|days: u8| {
        let file = stage.folder().join(name_of(days));
        // It takes up no room on the disk.
        File::create(&file).unwrap().set_len(200 << 20).unwrap();
        set_unused(&file, days.into());
        file
    });
    assert_eq!(stage.get(7), compiled(Reason::Missing));
    assert_eq!(files.map(|file| file.exists()), [false, true, true]);
    assert_eq!(stage.get(7), Origin::Cached);
}

#[test]
fn of_what_the_cache_did_not_name_nothing_goes() {
    let stage = Stage::new();
    let hash = "0".repeat(64);
    let folder = stage.folder().join(name_of(1));
    fs::create_dir(&folder).unwrap();
    let others = ["notes", ".tmpaB3xYz", &format!("{hash}.cwasm"), "a-b.cwasm"];
    for name in others {
        let file = stage.folder().join(name);
        fs::write(&file, name).unwrap();
        set_unused(&file, 400);
    }
    let abandoned = stage.folder().join(".compiling-aB3xYz.tmp");
    let written_now = stage.folder().join(".compiling-zY3xAb.tmp");
    for file in [&abandoned, &written_now] {
        fs::write(file, "half").unwrap();
    }
    set_unused(&abandoned, 2);
    stage.get(7);
    for name in others {
        assert!(stage.folder().join(name).exists(), "{name}");
    }
    assert!(folder.exists() && written_now.exists());
    assert!(!abandoned.exists(), "its process was killed");
}

/// Where `as_another_process` puts a component.
const CHILD: &str = "HOST_TEST_CACHE_CHILD";

/// Not a test but what the next one runs as a process with an environment of its own.
#[test]
fn as_another_process() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let cache = CompiledCache::for_user();
    let engine = Engine::default();
    let (component, origin) = cache.component(&engine, &component_of(7)).unwrap();
    assert_eq!(number_of(&engine, &component), 7);
    println!("folder {:?}, {origin:?}", cache.folder());
}

/// What that process prints.
fn printed(child: &mut Command) -> String {
    child.args(["--exact", "as_another_process", "--nocapture"]);
    let output = child.env(CHILD, "1").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_user_whose_caches_others_may_write_to_gets_components_that_are_compiled_each_time() {
    let parent = tempdir().unwrap();
    let home = parent.path().canonicalize().unwrap();
    let caches = home.join(".cache");
    // As umask 002 leaves it.
    fs::create_dir(&caches).unwrap();
    set_mode(&caches, 0o775);
    for _ in 0..2 {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.env("HOME", &home).env_remove("XDG_CACHE_HOME");
        let why = format!("{} has mode 0775", caches.display());
        assert_says(&printed(&mut child), &["folder None", "NoFolder", &why]);
    }
    assert_eq!(entries(&caches), [""; 0]);
}

#[test]
fn the_cache_of_the_user_is_among_the_users_caches_and_other_processes_read_it() {
    let parent = tempdir().unwrap();
    let parent = parent.path().canonicalize().unwrap();
    let [home, caches] = ["home", "caches"].map(|name| parent.join(name));
    let in_home = home.join(".cache/voice-calling");
    let cases = [
        (Some(caches.to_str().unwrap()), caches.join("voice-calling")),
        (None, in_home.clone()),
        (Some(""), in_home.clone()),
        (Some("relative"), in_home),
    ];
    for (given, expected) in cases {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.env("HOME", &home).current_dir(&parent);
        match given {
            Some(given) => child.env("XDG_CACHE_HOME", given),
            None => child.env_remove("XDG_CACHE_HOME"),
        };
        printed(&mut child);
        let cache = CompiledCache::in_folder(&expected).unwrap();
        let (_, origin) = cache
            .component(&Engine::default(), &component_of(7))
            .unwrap();
        assert_eq!(origin, Origin::Cached, "{given:?}");
        fs::remove_dir_all(expected).unwrap();
    }
    assert_eq!(entries(&parent), ["caches", "home"]);
}
