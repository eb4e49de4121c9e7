import { LEASES, NODE_LEASES_NAMESPACE, NODES, PODS, type Pod, promiseOf } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import type { Scenario } from '../../scenario/model.ts';
import { isReady } from '../support/workloads.ts';

/** Nodes are ready and keep their promises, and each application has its pods, all ready, and no others. */
export async function isWhole(admin: ApiClient, { form, workload }: Scenario): Promise<boolean> {
  if (!(await nodesAreWell(admin, form))) return false;
  const { items } = await admin.list(PODS, { namespace: 'default' });
  return Object.entries({ ...workload.replicas, one: 1, database: workload.database }).every(([app, replicas]) => {
    const own = items.filter(({ metadata }) => metadata.labels?.['app'] === app);
    return own.length === replicas && own.every(isUp);
  });
}

const isUp = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;

/** Nodes are ready and keep their promises. */
export async function nodesAreWell(admin: ApiClient, form: Scenario['form']): Promise<boolean> {
  const nodes = await admin.list(NODES);
  const ready = await Promise.all(nodes.items.map(({ metadata }) => isReady(admin, metadata.name ?? '')));
  if (ready.length !== form.nodes || !ready.every(Boolean)) return false;
  const leases = await admin.list(LEASES, { namespace: NODE_LEASES_NAMESPACE });
  const promising = leases.items.filter((lease) => promiseOf(lease)?.isBroken === false).length;
  return !form.selfFencing || promising === form.nodes;
}
