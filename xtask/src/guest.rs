//! The guests: packages that are built for WebAssembly.

/// A package that is built for WebAssembly, and its final form.
#[derive(Debug)]
pub struct Guest {
    pub package: &'static str,
    /// The name that `wasm-tools metadata show` prints.
    pub component: &'static str,
    /// The path in the target directory.
    pub file: &'static str,
    pub form: Form,
}

/// The final form of a package.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// A component of the world that its bindings were generated from.
    Component,
    /// A component of another world than that of the bindings.
    ComponentOf {
        /// The last folder has the package with the world, which uses those before.
        folders: &'static [&'static str],
        world: &'static str,
    },
}

/// Returns a component that has the name of its package.
const fn component(package: &'static str, file: &'static str) -> Guest {
    named(package, package, file)
}

const fn named(package: &'static str, component: &'static str, file: &'static str) -> Guest {
    Guest {
        package,
        component,
        file,
        form: Form::Component,
    }
}

/// The guest for hosts of WASI 0.2, which is the project's main product.
pub const CLIENT: Guest = named("voice-calling-p2", "voice-calling", "voice-calling.wasm");

/// The guest for hosts of WASI 0.3.
pub const CLIENT_P3: Guest = component("voice-calling-p3", "voice-calling-p3.wasm");

/// The tools for AI agents, into which the client is plugged.
pub const TOOLS: Guest = component("voice-calling-tools", "tools-guest.wasm");

/// The tools that cannot make a telephone ring.
pub const TOOLS_READ_ONLY: Guest = Guest {
    form: Form::ComponentOf {
        folders: &["wit/types", "wit", "wit/tools"],
        world: "read-only",
    },
    ..named(
        "voice-calling-tools",
        "voice-calling-tools-read-only",
        "tools-read-only-guest.wasm",
    )
};

/// The guests that users get.
pub const PRODUCTS: [&Guest; 2] = [&CLIENT, &CLIENT_P3];

/// The guest on a core that misbehaves, with which the check of components proves that it can fail.
pub const FAULTY: Guest = component("voice-calling-faulty-guest", "faulty.wasm");

/// A guest that uses the one for WASI 0.3 and cancels its calls, for the tests of cancellation.
pub const CANCELLER: Guest = component("voice-calling-canceller", "canceller-guest.wasm");

/// One operation of the service written with wstd, with which the bench compares the client.
pub const WSTD: Guest = component("voice-calling-bench-wstd", "voice-calling-wstd.wasm");

/// An HTTP server for hosts of `wasi:http`; the client is plugged into it.
pub const EXAMPLE_HTTP: Guest = component("voice-calling-example-http", "http-guest.wasm");

/// The components in the folder for the workflow engine Obelisk: the client, the one that an operator
/// of campaigns supplies, the workflows, and the page of the campaigns.
pub const OBELISK: [&Guest; 4] = [
    &CLIENT,
    &named(
        "voice-calling-obelisk-operator",
        "voice-calling-operator",
        "operator.wasm",
    ),
    &named(
        "voice-calling-obelisk-workflow",
        "voice-calling-workflow",
        "workflow.wasm",
    ),
    &named(
        "voice-calling-obelisk-campaigns",
        "voice-calling-campaigns",
        "campaigns.wasm",
    ),
];

/// Those that the client is plugged into, and their files in that folder: one begins a creation once,
/// the other receives the service's webhook.
pub const OBELISK_SOCKETS: [(&Guest, &str); 2] = [
    (
        &named(
            "voice-calling-obelisk-once",
            "voice-calling-once",
            "once-guest.wasm",
        ),
        "once.wasm",
    ),
    (
        &named(
            "voice-calling-obelisk-webhook",
            "voice-calling-webhook",
            "webhook-guest.wasm",
        ),
        "webhook.wasm",
    ),
];
