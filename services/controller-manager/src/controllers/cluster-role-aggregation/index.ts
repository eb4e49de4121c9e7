import { CLUSTER_ROLES, type ClusterRole } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isTerminating, nameOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decide } from './decide.ts';

/** Roles that consist of others. Admission lets controllers write nothing but what such a role selects. */
export const clusterRoleAggregationController: ControllerDefinition = {
  name: 'clusterrole-aggregation',
  component: 'clusterrole-aggregation-controller',
  identity: 'manager',
  watches: [CLUSTER_ROLES],
  create: (context) => [createLoop(context)],
};

function createLoop({ informers, client }: ControllerContext): Loop {
  const roles = informers.of(CLUSTER_ROLES);
  const aggregated = (): readonly string[] =>
    roles
      .list()
      .filter(({ aggregationRule }: ClusterRole) => aggregationRule !== undefined)
      .map(nameOf);
  return {
    name: 'clusterrole-aggregation',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: aggregated,
    wake: (enqueue) => [roles.onChange(() => aggregated().forEach(enqueue))],
    reconcile: async (name) => {
      const role = roles.get({ name });
      if (role === undefined || isTerminating(role)) return {};
      const changed = decide(role, roles.list());
      if (changed !== undefined) await unlessChanged(() => client.update(CLUSTER_ROLES, changed));
      return {};
    },
  };
}
