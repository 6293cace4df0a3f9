//! The allocation of memory for instances.

use crate::load::kind::GuestKind;
use wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

/// The maximum number of parts of each kind in a component; ours has a few. (An instance of a
/// component consists of instances of core modules: the code, and adapters around it.)
const CORE_INSTANCES: u32 = 8;
const TABLES: u32 = 4;

/// Returns the number of stacks that an instance may use: on WASI 0.3 one is for the call, and one
/// for the guest's work between its waits.
fn stacks(kind: GuestKind) -> u32 {
    match kind {
        GuestKind::V0_2 => 1,
        GuestKind::V0_3 => 2,
    }
}

/// The part of each memory that stays allocated after its instance, and is cleared by hand: it is
/// what a call usually touches.
const MEMORY_KEPT_BYTES: usize = 256 * 1024;

/// The part of a guest's stack that stays allocated.
const STACK_KEPT_BYTES: usize = 64 * 1024;

/// The part of a table that stays allocated.
const TABLE_KEPT_BYTES: usize = 16 * 1024;

/// The allocation of memory for instances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocation {
    /// Each instance allocates memory from the system, and returns it when it is dropped.
    #[default]
    OnDemand,
    /// Instances use a pool that is reserved in advance; an instance beyond its size fails.
    /// Instances start and end several times faster. The reservation is of address space, not of
    /// memory; memory that an instance has touched stays in the pool, cleared, so that the next one
    /// need not ask the system for it.
    Pooling {
        /// The maximum number of concurrent instances, at least 1.
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
