//! Where the memory of instances comes from.

use crate::load::kind::GuestKind;
use wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

/// How many parts of each kind a component may have; ours has a few. (An instance of a
/// component consists of instances of core modules: the code, and glue around it.)
const CORE_INSTANCES: u32 = 8;
const TABLES: u32 = 4;

/// On how many stacks an instance may run: on WASI 0.3 the one of a call, and that of what the
/// guest does between its waits.
fn stacks(kind: GuestKind) -> u32 {
    match kind {
        GuestKind::V0_2 => 1,
        GuestKind::V0_3 => 2,
    }
}

/// Of each memory so much stays in place when its instance goes, and is cleared by hand:
/// what a call usually touches.
const MEMORY_KEPT_BYTES: usize = 256 * 1024;

/// The same for the stack on which a guest runs.
const STACK_KEPT_BYTES: usize = 64 * 1024;

/// The same for a table.
const TABLE_KEPT_BYTES: usize = 16 * 1024;

/// Where the memory of instances comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocation {
    /// From the system, for each instance, which gets it back with the instance.
    #[default]
    OnDemand,
    /// From a pool that is reserved in advance, for so many instances at once; one more
    /// fails. Instances come and go several times faster. The reservation is of address
    /// space, not of memory; what an instance has touched stays with the pool, cleared,
    /// so that the next one need not ask the system for it.
    Pooling {
        /// At once, at least 1.
        instances: u32,
    },
}

impl Allocation {
    pub(crate) fn apply(self, config: &mut Config, kind: GuestKind) {
        let Allocation::Pooling { instances } = self else {
            return;
        };
        let mut pool = PoolingAllocationConfig::default();
        pool.total_component_instances(instances)
            .total_core_instances(instances.saturating_mul(CORE_INSTANCES))
            .max_core_instances_per_component(CORE_INSTANCES)
            .total_memories(instances)
            .max_memories_per_component(1)
            .total_tables(instances.saturating_mul(TABLES))
            .max_tables_per_component(TABLES)
            .total_stacks(instances.saturating_mul(stacks(kind)))
            .max_unused_warm_slots(instances)
            .linear_memory_keep_resident(MEMORY_KEPT_BYTES)
            .table_keep_resident(TABLE_KEPT_BYTES)
            .async_stack_keep_resident(STACK_KEPT_BYTES)
            .pagemap_scan(Enabled::Auto);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
}
