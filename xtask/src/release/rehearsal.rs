//! A release on registries of this machine: pushed there, and used from there as its users do.
//! Nothing leaves loopback but what the installers of other packages fetch.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use xshell::{Cmd, Shell, cmd};

use crate::{
    composition::plug,
    core_module::{FLAGS_VARIABLE, PROFILE, flags},
    harness::Service,
    interpreter::PYTHON,
    obelisk,
    process::{announce, run_quietly},
    program::GLIBC,
    release::{
        artifact::{encoded_wit, mock_name},
        registry::{self, Registry},
        signature,
    },
    setup::{
        check_release,
        wheel::{WASH, WASMTIME},
    },
    toolchain::{TARGET, Toolchain},
    workspace::{Workspace, shell_in},
};

/// What the mock accepts.
const TOKEN: &str = "mock-token-0001";

const DOCKET: &str = "{agent-id: 7, to-phone-number: \"919876543210\", call-context: \"{}\", \
                      external-id: none, extra: none}";

pub fn run(workspace: &Workspace, release: &Path) -> Result<()> {
    check_release(&workspace.shell)?;
    let scratch = workspace.target.join("rehearsal");
    workspace.shell.remove_path(&scratch)?;
    workspace.shell.create_dir(&scratch)?;
    let version = workspace.version()?;
    let rehearsal = Rehearsal {
        workspace,
        release,
        shell: shell_in(&scratch)?,
        mock: mock(release, &scratch, &version)?,
        scratch,
        version,
    };
    signature::prove(release, &rehearsal.folder("signature")?)?;
    rehearsal.sboms()?;
    rehearsal.pipeline()?;
    rehearsal.python()?;
    rehearsal.javascript()?;
    let registry = rehearsal.start_registry("registry", &[])?;
    rehearsal.push(&registry)?;
    rehearsal.component(&registry)?;
    rehearsal.guest(&registry)?;
    rehearsal.obelisk()?;
    println!(
        "rehearsed: voice-calling {} as its users get it",
        rehearsal.version
    );
    Ok(())
}

/// The mock service of the release.
fn mock(release: &Path, scratch: &Path, version: &str) -> Result<Service> {
    announce("the mock service, from its archive");
    let (shell, name) = (shell_in(scratch)?, mock_name(version));
    let archive = release.join(format!("{name}.tar.gz"));
    run_quietly(cmd!(shell, "tar -xzf {archive}").quiet())?;
    let program = scratch.join(name).join("voice-calling-mock");
    let symbols = cmd!(shell, "objdump -T {program}").quiet().read()?;
    let versions = symbols.split("(GLIBC_").skip(1);
    let newest =
        versions.filter_map(|it| it.split_once(')')?.0.split('.').nth(1)?.parse::<u32>().ok());
    let newest = newest.max().context("the mock service uses no C library")?;
    ensure!(
        GLIBC == format!("2.{newest}"),
        "the mock service needs glibc 2.{newest}, and the notes of the release say {GLIBC}"
    );
    Service::start(&program, scratch, &["--port", "0", "--call-ms", "50"])
}

struct Rehearsal<'a> {
    workspace: &'a Workspace,
    /// The folder of the release.
    release: &'a Path,
    scratch: PathBuf,
    /// In that folder.
    shell: Shell,
    version: String,
    mock: Service,
}

impl Rehearsal<'_> {
    fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.scratch.join(name);
        self.shell.create_dir(&folder)?;
        Ok(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.release.join(name)
    }

    /// A command that knows the mock, and reaches nothing else over HTTP.
    fn offline<'c>(&self, command: Cmd<'c>) -> Cmd<'c> {
        let nowhere = "http://127.0.0.1:9";
        command
            .quiet()
            .env("VOICE_CALLING_BASE_URL", &self.mock.url)
            .env("VOICE_CALLING_API_TOKEN", TOKEN)
            .env("HTTP_PROXY", nowhere)
            .env("HTTPS_PROXY", nowhere)
            .env("NO_PROXY", "127.0.0.1")
    }

    // ------------------------------------------------------------------------------ documents

    /// By the validator of CycloneDX itself.
    fn sboms(&self) -> Result<()> {
        announce("the lists of what is in each file, against the schema of CycloneDX");
        let python = self.environment("sbom")?;
        let requirement = "cyclonedx-python-lib[json-validation]==11.11.0";
        run_quietly(cmd!(self.shell, "{python} -m pip install --quiet {requirement}").quiet())?;
        let code = "import glob, os, sys\n\
            from cyclonedx.schema import SchemaVersion\n\
            from cyclonedx.validation.json import JsonStrictValidator\n\
            validator = JsonStrictValidator(SchemaVersion.V1_6)\n\
            files = glob.glob(os.path.join(sys.argv[1], '*.cdx.json'))\n\
            assert files, 'no file'\n\
            for file in files:\n\
            \x20   error = validator.validate_str(open(file, encoding='utf-8').read())\n\
            \x20   assert error is None, f'{file}: {error}'\n";
        let release = self.release;
        run_quietly(cmd!(self.shell, "{python} -c {code} {release}").quiet())
    }

    /// The script and the workflow with which the owner releases.
    fn pipeline(&self) -> Result<()> {
        announce("the pipeline");
        let python = self.environment("pipeline")?;
        let requirement = "check-jsonschema==0.37.4";
        run_quietly(cmd!(self.shell, "{python} -m pip install --quiet {requirement}").quiet())?;
        let root = &self.workspace.root;
        let workflow = root.join(".github/workflows/release.yml");
        let schema = "vendor.github-workflows";
        let check = cmd!(
            self.shell,
            "{python} -m check_jsonschema --builtin-schema {schema}"
        );
        run_quietly(check.quiet().arg(workflow))?;
        let shellcheck = self.shell.cmd("shellcheck").quiet();
        run_quietly(shellcheck.args([root.join(".ci/run"), root.join(".ci/release")]))
    }

    // ------------------------------------------------------------------------------- packages

    /// From an index (PEP 503) into an empty environment, and the README's first example.
    fn python(&self) -> Result<()> {
        announce("the wheel, from an index");
        let python = self.environment("python")?;
        let (files, index) = (self.folder("files")?, self.folder("index")?);
        let wheel = self.file(&format!("voice_calling-{}-py3-none-any.whl", self.version));
        let download = cmd!(
            self.shell,
            "{python} -m pip download --quiet --dest {files} {wheel}"
        );
        run_quietly(download.quiet())?;
        for entry in fs::read_dir(&files)? {
            let file = entry?.path();
            let name = file
                .file_name()
                .context("a file has a name")?
                .to_string_lossy();
            // Names of projects are normalized in an index.
            let project = name.split('-').next().unwrap_or_default();
            let project = project.to_lowercase().replace(['_', '.'], "-");
            let folder = index.join("simple").join(project);
            self.shell.create_dir(&folder)?;
            self.shell.copy_file(&file, folder.join(&*name))?;
            let link = format!("<!DOCTYPE html><a href=\"{name}\">{name}</a>\n");
            self.shell.write_file(folder.join("index.html"), link)?;
        }
        let port = free_port()?;
        let address = port.to_string();
        let server = cmd!(
            self.shell,
            "{python} -m http.server --bind 127.0.0.1 {address}"
        );
        let _server = Process::serving(Command::from(server.quiet()), &index, port)?;
        let url = format!("http://127.0.0.1:{port}/simple/");
        let install = cmd!(
            self.shell,
            "{python} -m pip install --quiet --no-cache-dir --index-url {url} voice-calling"
        );
        // Else a folder of wheels that the user has named might be searched, too.
        run_quietly(install.quiet().env_remove("PIP_FIND_LINKS"))?;

        let readme = self
            .workspace
            .shell
            .read_file("bindings/python/README.md")?;
        let example = self.scratch.join("example.py");
        self.shell
            .write_file(&example, first_block(&readme, "python")?)?;
        let said = self
            .offline(cmd!(self.shell, "{python} {example}"))
            .read()?;
        ensure!(
            said.contains("COMPLETED"),
            "the README's first example printed: {said}"
        );
        Ok(())
    }

    /// An empty virtual environment.
    fn environment(&self, name: &str) -> Result<PathBuf> {
        PYTHON.check(&self.shell)?;
        let (python, folder) = (PYTHON.program, self.scratch.join(format!("venv-{name}")));
        run_quietly(cmd!(self.shell, "{python} -m venv {folder}").quiet())?;
        Ok(folder.join("bin/python"))
    }

    /// The tarballs into an empty project: the README's first example, the MCP server's list of
    /// tools, and whether the nodes for Node-RED can be loaded.
    fn javascript(&self) -> Result<()> {
        announce("the tarballs, in an empty project");
        let project = self.folder("javascript")?;
        let shell = shell_in(&project)?;
        let version = &self.version;
        let tarballs = [
            "voice-calling",
            "voice-calling-mcp",
            "voice-calling-node-red",
        ];
        let tarballs = tarballs.map(|name| self.file(&format!("{name}-{version}.tgz")));
        shell.write_file("package.json", "{ \"private\": true }\n")?;
        let install = cmd!(shell, "npm install --no-audit --no-fund --ignore-scripts");
        run_quietly(install.quiet().args(&tarballs))?;

        let readme = self
            .workspace
            .shell
            .read_file("bindings/javascript/README.md")?;
        shell.write_file("example.mjs", first_block(&readme, "js")?)?;
        let said = self.offline(cmd!(shell, "node example.mjs")).read()?;
        ensure!(
            said.contains("COMPLETED"),
            "the README's first example printed: {said}"
        );

        let server = "bin/voice-calling-mcp";
        let code = format!(
            "import {{ Client }} from '@modelcontextprotocol/sdk/client/index.js';\n\
             import {{ StdioClientTransport }} from '@modelcontextprotocol/sdk/client/stdio.js';\n\
             const client = new Client({{ name: 'rehearsal', version: '1' }});\n\
             const command = 'node_modules/.{server}';\n\
             const args = ['--read-only'];\n\
             await client.connect(new StdioClientTransport({{ command, args, env: process.env }}));\n\
             const found = await client.callTool({{ name: 'list-agents', \
                arguments: {{ 'organization-id': 'org-1' }} }});\n\
             console.log(JSON.stringify(found.content));\n\
             await client.close();\n"
        );
        shell.write_file("agent.mjs", code)?;
        let said = self.offline(cmd!(shell, "node agent.mjs")).read()?;
        ensure!(said.contains("text"), "the MCP server answered: {said}");

        let code = "const RED = { nodes: { types: [], createNode() {}, \
                       registerType(name) { this.types.push(name); } }, \
                       httpNode: {}, settings: {} };\n\
                    const folder = 'node_modules/@voice-calling/node-red/';\n\
                    const manifest = require('./' + folder + 'package.json');\n\
                    for (const file of Object.values(manifest['node-red'].nodes)) \
                       require('./' + folder + file)(RED);\n\
                    console.log(RED.nodes.types.sort().join(' '));\n";
        shell.write_file("nodes.cjs", code)?;
        let said = self.offline(cmd!(shell, "node nodes.cjs")).read()?;
        let nodes = "voice-calling-account voice-calling-call voice-calling-completed \
                     voice-calling-docket voice-calling-fetch";
        ensure!(said == nodes, "the nodes for Node-RED are: {said}");
        Ok(())
    }

    // ------------------------------------------------------------------------------ registries

    /// Debian's docker-registry. All that are started serve the same images.
    fn start_registry(&self, name: &str, http: &[String]) -> Result<RegistryProcess> {
        let (port, data) = (free_port()?, self.folder("images")?);
        let mut config = format!(
            "version: 0.1\nlog: {{ level: warn }}\nstorage: {{ filesystem: {{ rootdirectory: \
             {} }} }}\nhttp:\n  addr: 127.0.0.1:{port}\n",
            data.display()
        );
        for line in http {
            config += &format!("  {line}\n");
        }
        let file = self.scratch.join(format!("{name}.yml"));
        self.shell.write_file(&file, config)?;
        let mut command = Command::new("docker-registry");
        command.arg("serve").arg(&file);
        Ok(RegistryProcess {
            base: format!("127.0.0.1:{port}/acme"),
            _process: Process::serving(command, &self.scratch, port)?,
        })
    }

    fn push(&self, process: &RegistryProcess) -> Result<()> {
        announce("pushing to a registry, twice");
        let registry = Registry::new(self.workspace, &process.base, true)?;
        registry.push(self.release, &self.version)?;
        registry.push(self.release, &self.version)?;

        announce("another file under a version that is released");
        let other = self.scratch.join("other.wasm");
        self.shell
            .copy_file(self.file("voice-calling-p3.wasm"), &other)?;
        let reference = registry.component(registry::IMAGES[0], &self.version);
        let error = match registry.push_once(&reference, &other) {
            Ok(()) => bail!("{reference} was overwritten"),
            Err(error) => format!("{error:#}"),
        };
        ensure!(
            error.contains("never overwritten"),
            "the push failed otherwise: {error}"
        );
        let kept = registry.pull(&reference)?.context("the image is gone")?;
        ensure!(
            kept == fs::read(self.file(registry::IMAGES[0]))?,
            "{reference} was changed"
        );
        let manifest = get(&reference_url(&reference)?)?;
        for annotation in ["title", "description", "licenses", "version"] {
            let name = format!("org.opencontainers.image.{annotation}");
            ensure!(
                manifest.contains(&name),
                "{reference} has no annotation {name}"
            );
        }
        Ok(())
    }

    /// `wkg get`, and one docket by wasmtime's command line; wasmCloud's pulls the same.
    fn component(&self, process: &RegistryProcess) -> Result<()> {
        announce("the component, from the registry");
        let file = self.scratch.join("component.wasm");
        let package = format!("voice-calling:component@{}", self.version);
        run_quietly(
            self.wkg(process)?
                .args(["get", &package, "--output"])
                .arg(&file),
        )?;
        let released = fs::read(self.file("voice-calling.wasm"))?;
        ensure!(fs::read(&file)? == released, "{package} has other bytes");

        let call = format!("create-docket-v2({DOCKET}, none)");
        let said = self.wasmtime(&call, &file)?;
        ensure!(said.contains("docket-id: \""), "wasmtime printed: {said}");

        let (wash, pulled) = (WASH.find(&self.shell)?, self.scratch.join("wash.wasm"));
        let reference = format!("{}/voice-calling/component:{}", process.base, self.version);
        let pull = cmd!(
            self.shell,
            "{wash} oci pull --insecure {reference} {pulled}"
        )
        .quiet();
        run_quietly(pull)?;
        ensure!(fs::read(&pulled)? == released, "wash pulled other bytes");
        Ok(())
    }

    /// An empty project that imports the client: its WIT comes from the registry.
    fn guest(&self, process: &RegistryProcess) -> Result<()> {
        announce("a guest, against the WIT from the registry");
        let registry = Registry::new(self.workspace, &process.base, true)?;
        // In the world they come from where WASI publishes them.
        for (name, bytes) in encoded_wit(&self.workspace.root, &["wit"])? {
            let Some(name) = name.strip_prefix("wasi:") else {
                continue;
            };
            let file = self.scratch.join("wasi.wasm");
            fs::write(&file, bytes)?;
            let reference = format!("{}/wasi/{}", process.base, name.replace('@', ":"));
            registry.push_once(&reference, &file)?;
        }

        let project = self.folder("guest")?;
        let shell = shell_in(&project)?;
        let world = include_str!("rehearsal/world.wit").replace("VERSION", &self.version);
        shell.write_file("wit/world.wit", world)?;
        shell.write_file("src/lib.rs", include_str!("rehearsal/lib.rs"))?;
        let manifest = include_str!("rehearsal/Cargo.toml.in");
        let workspace = self.workspace.shell.read_file("Cargo.toml")?;
        let profile = workspace
            .split_once("[profile.guest]")
            .context("no [profile.guest]")?;
        let profile = profile.1.split("\n[").next().unwrap_or_default();
        shell.write_file(
            "Cargo.toml",
            format!("{manifest}\n[profile.guest]{profile}"),
        )?;
        shell.copy_file(self.workspace.root.join("Cargo.lock"), &project)?;

        run_quietly(self.wkg(process)?.arg("fetch").arg(project.join("wit")))?;
        let toolchain = Toolchain::find(&self.workspace.shell)?;
        let build = toolchain
            .cargo(&shell)
            .args(["build", "--offline", "--target", TARGET]);
        let target = self.workspace.guest_target();
        let build = build
            .args(["--profile", PROFILE, "--target-dir"])
            .arg(&target);
        run_quietly(build.env(FLAGS_VARIABLE, flags(&toolchain, self.workspace)?))?;

        let module = target.join(TARGET).join(PROFILE).join("rehearsal.wasm");
        let module = fs::read(module)?;
        let component = wit_component::ComponentEncoder::default().module(&module)?;
        let (socket, whole) = (project.join("guest.wasm"), project.join("whole.wasm"));
        fs::write(&socket, component.validate(true).encode()?)?;
        plug(
            self.workspace,
            &self.scratch.join("component.wasm"),
            &socket,
            &whole,
        )?;
        let said = self.wasmtime("call(\"919876543211\")", &whole)?;
        ensure!(
            said.starts_with("ok(\"docket "),
            "the guest returned: {said}"
        );
        Ok(())
    }

    /// The archive for Obelisk with its component taken from a registry, and one docket. The engine
    /// speaks to registries by TLS only, so the same images are served so as well.
    fn obelisk(&self) -> Result<()> {
        announce("the folder for Obelisk, with the component from the registry");
        let (key, certificate) = (self.scratch.join("tls.key"), self.scratch.join("tls.pem"));
        // Not an authority, which would not do as the certificate of a server.
        let config = "[req]\ndistinguished_name = name\nx509_extensions = server\nprompt = no\n\
                      [name]\nCN = 127.0.0.1\n\
                      [server]\nbasicConstraints = CA:FALSE\nsubjectAltName = IP:127.0.0.1\n";
        let file = self.scratch.join("tls.cnf");
        self.shell.write_file(&file, config)?;
        let options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"];
        let openssl = cmd!(self.shell, "openssl req -config {file}").quiet();
        let openssl = openssl.args(options).arg("-keyout").arg(&key);
        run_quietly(openssl.arg("-out").arg(&certificate))?;
        let tls = self.start_registry(
            "registry-tls",
            &[format!(
                "tls: {{ certificate: {}, key: {} }}",
                certificate.display(),
                key.display()
            )],
        )?;

        let name = format!("voice-calling-obelisk-{}", self.version);
        let archive = self.file(&format!("{name}.tar.gz"));
        let scratch = &self.scratch;
        run_quietly(cmd!(self.shell, "tar -xzf {archive} -C {scratch}").quiet())?;
        let folder = self.scratch.join(name);
        let deployment = folder.join("deployment.toml");
        let text = fs::read_to_string(&deployment)?;
        let local = "location = \"voice-calling.wasm\"";
        ensure!(
            text.contains(local),
            "deployment.toml has no line `{local}`"
        );
        let image = format!(
            "oci://{}/voice-calling/component:{}",
            tls.base, self.version
        );
        fs::write(
            &deployment,
            text.replace(local, &format!("location = \"{image}\"")),
        )?;
        obelisk::try_one_docket(self.workspace, &folder, &certificate)
    }

    // -------------------------------------------------------------------------------- programs

    /// wkg, which finds every package in the registry.
    fn wkg(&self, process: &RegistryProcess) -> Result<Cmd<'_>> {
        let (host, prefix) = process.base.split_once('/').context("a base has a path")?;
        // What users write who take packages from a registry that is not known by itself.
        let place = format!(
            "{{ registry = \"{host}\", metadata = {{ preferredProtocol = \"oci\", \
             oci = {{ registry = \"{host}\", namespacePrefix = \"{prefix}/\" }} }} }}"
        );
        let config = format!(
            "[namespace_registries]\nvoice-calling = {place}\nwasi = {place}\n\n\
             [registry.\"{host}\".oci]\nprotocol = \"http\"\n"
        );
        let (file, cache) = (
            self.scratch.join("wkg-config.toml"),
            self.folder("wkg-cache")?,
        );
        self.shell.write_file(&file, config)?;
        let wkg = crate::setup::tool::WKG.find()?;
        let wkg = self.shell.cmd(wkg).quiet().env("RUST_BACKTRACE", "0");
        Ok(wkg.env("WKG_CONFIG_FILE", file).env("WKG_CACHE_DIR", cache))
    }

    /// A function of a component on the newest wasmtime, as the documentation calls one.
    fn wasmtime(&self, call: &str, component: &Path) -> Result<String> {
        let wasmtime = WASMTIME[WASMTIME.len() - 1].find(&self.shell)?;
        let run = cmd!(self.shell, "{wasmtime} run -S http")
            .args(["--env", "VOICE_CALLING_BASE_URL"])
            .args(["--env", "VOICE_CALLING_API_TOKEN"])
            .args(["--invoke", call])
            .arg(component);
        self.offline(run).read().context("wasmtime")
    }
}

struct RegistryProcess {
    /// Its address, and a namespace.
    base: String,
    _process: Process,
}

/// A server, ended when this is dropped.
struct Process(Child);

impl Process {
    /// Starts it in `folder`, and waits until it listens.
    fn serving(mut command: Command, folder: &Path, port: u16) -> Result<Self> {
        let program = command.get_program().to_owned();
        command.current_dir(folder).stdin(Stdio::null());
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = Self(command.spawn().with_context(|| format!("{program:?}"))?);
        let deadline = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            ensure!(process.0.try_wait()?.is_none(), "{program:?} ended at once");
            ensure!(
                Instant::now() < deadline,
                "{program:?} does not listen on port {port}"
            );
            thread::sleep(Duration::from_millis(20));
        }
        Ok(process)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}

/// The manifest of an image.
fn reference_url(reference: &str) -> Result<String> {
    let (host, rest) = reference
        .split_once('/')
        .context("a reference has a path")?;
    let (name, tag) = rest.rsplit_once(':').context("a reference has a tag")?;
    Ok(format!("{host}/v2/{name}/manifests/{tag}"))
}

/// An answer over plain HTTP, head and body.
fn get(url: &str) -> Result<String> {
    use std::io::{Read, Write};
    let (host, path) = url.split_once('/').context("a URL has a path")?;
    let mut stream = TcpStream::connect(host)?;
    write!(
        stream,
        "GET /{path} HTTP/1.0\r\nHost: {host}\r\n\
         Accept: application/vnd.oci.image.manifest.v1+json\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The first block of code in this language.
fn first_block<'a>(markdown: &'a str, language: &str) -> Result<&'a str> {
    let begin = format!("```{language}\n");
    let (_, code) = markdown
        .split_once(&begin)
        .context("the README has no such block")?;
    let (code, _) = code
        .split_once("```")
        .context("a block that does not end")?;
    Ok(code)
}
