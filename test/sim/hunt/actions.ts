import { FENCED, NODES } from '@holdfast/api';
import { BUS_PARTY } from '@holdfast/testing';
import type { SimCluster } from '../cluster.ts';
import { FAULT_ACTIONS } from './fault-actions.ts';
import { goodWay } from './faulty-store.ts';
import type { StepKind } from './kinds.ts';
import { type Action, isOff, type Scene, send } from './scene.ts';
import { recommission, USER_ACTIONS } from './user-actions.ts';

export const ACTIONS: Readonly<Record<StepKind, Action>> = { ...FAULT_ACTIONS, ...USER_ACTIONS };

/** Ends whatever is still disturbed, as an operator would. */
export function heal(scene: Scene): void {
  const { cluster, crashed, poweredOff, fenced, retired, doomed } = scene;
  doomed.clear();
  const { network, nodeNames, controlPlane } = cluster;
  for (const way of scene.ways.values()) Object.assign(way, goodWay(way.pageMs));
  for (const party of [...nodeNames, ...controlPlane, BUS_PARTY]) if (!retired.has(party)) network.rejoin(party);
  for (const party of crashed) {
    if (!nodeNames.includes(party)) cluster.restart(party);
    else if (!isOff(scene, party)) cluster.restartKubelet(party);
  }
  for (const node of [...poweredOff, ...fenced]) cluster.powerOn(node);
  for (const node of retired) cluster.background(recommission(scene, node));
  crashed.clear();
  poweredOff.clear();
  fenced.clear();
}

/** Takes what fences and drains have left off the nodes. */
export function liftEverything({ cluster }: Scene): void {
  for (const name of cluster.nodeNames) send(cluster, () => liftAll(cluster, name));
}

async function liftAll({ admin, committed }: SimCluster, name: string): Promise<void> {
  const node = committed.list(NODES).find(({ metadata }) => metadata.name === name);
  const isFenced = node?.status.conditions?.some(({ type, status }) => type === FENCED && status === 'True') === true;
  const metadata = isFenced ? { annotations: { 'fencing/unfence': 'true' } } : {};
  await admin.patch(NODES, { name }, { type: 'merge', body: { metadata, spec: { unschedulable: false } } });
}
