import type { PluginDefinition } from '../framework/definition.ts';
import { DEFAULT_BINDER } from './default-binder.ts';
import { DEFAULT_PREEMPTION } from './default-preemption.ts';
import { IMAGE_LOCALITY } from './image-locality.ts';
import { INTER_POD_AFFINITY } from './inter-pod-affinity.ts';
import { NODE_AFFINITY } from './node-affinity.ts';
import { NODE_NAME } from './node-name.ts';
import { NODE_PORTS } from './node-ports.ts';
import { NODE_RESOURCES_BALANCED } from './node-resources-balanced.ts';
import { NODE_RESOURCES_FIT } from './node-resources-fit.ts';
import { NODE_UNSCHEDULABLE } from './node-unschedulable.ts';
import { NODE_VOLUME_LIMITS } from './node-volume-limits.ts';
import { POD_TOPOLOGY_SPREAD } from './pod-topology-spread.ts';
import { PRIORITY_SORT } from './priority-sort.ts';
import { SCHEDULING_GATES } from './scheduling-gates.ts';
import { TAINT_TOLERATION } from './taint-toleration.ts';
import { VOLUME_BINDING } from './volume-binding.ts';
import { VOLUME_RESTRICTIONS } from './volume-restrictions.ts';
import { VOLUME_ZONE } from './volume-zone.ts';

/** All default plugins, in the order of their node checks: the first rejection gives the reason. */
export const PLUGINS: readonly PluginDefinition[] = [
  SCHEDULING_GATES,
  PRIORITY_SORT,
  NODE_UNSCHEDULABLE,
  NODE_NAME,
  TAINT_TOLERATION,
  NODE_AFFINITY,
  NODE_PORTS,
  NODE_RESOURCES_FIT,
  VOLUME_RESTRICTIONS,
  NODE_VOLUME_LIMITS,
  VOLUME_BINDING,
  VOLUME_ZONE,
  POD_TOPOLOGY_SPREAD,
  INTER_POD_AFFINITY,
  DEFAULT_PREEMPTION,
  NODE_RESOURCES_BALANCED,
  IMAGE_LOCALITY,
  DEFAULT_BINDER,
];
