import {
  type Event,
  type Lease,
  NODES,
  type Node,
  PERSISTENT_VOLUME_CLAIMS,
  POD_DISRUPTION_BUDGETS,
  type Pod,
  type PodDisruptionBudget,
  selectorOf,
} from '@holdfast/api/facts';
import { type ClaimFacts, observeClaim } from './claim.ts';
import { observeLease } from './node.ts';
import { type Known, known, type Reader } from './reader.ts';

export interface PodFacts {
  readonly pod: Pod;
  /** `absent` without a node, too. */
  readonly node: Known<Node>;
  readonly lease: Known<Lease>;
  /** The claims that it uses and that exist. */
  readonly claims: readonly ClaimFacts[];
  /** The newest first. */
  readonly events: readonly Event[];
  /** Budgets that select it. */
  readonly budgets: readonly PodDisruptionBudget[];
}

export async function observePod(pod: Pod, reader: Reader): Promise<PodFacts> {
  const { namespace = '', labels = {} } = pod.metadata;
  const nodeName = pod.spec.nodeName ?? '';
  const [node, lease, events, budgets] = await Promise.all([
    nodeName === '' ? ('absent' as const) : reader.find(NODES, { name: nodeName }),
    nodeName === '' ? ('absent' as const) : observeLease(nodeName, reader),
    reader.events(pod),
    reader.list(POD_DISRUPTION_BUDGETS, namespace),
  ]);
  const selecting = budgets.filter(({ spec }) => selectorOf(spec.selector).matches(labels));
  return { pod, node, lease, events, budgets: selecting, claims: await claimsOf(pod, reader) };
}

/** Only a pod without a node can wait for a claim to be bound. */
async function claimsOf(pod: Pod, reader: Reader): Promise<readonly ClaimFacts[]> {
  if ((pod.spec.nodeName ?? '') !== '') return [];
  const { namespace = '', name: podName = '' } = pod.metadata;
  const names = (pod.spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) =>
    persistentVolumeClaim === undefined
      ? ephemeral === undefined
        ? []
        : [`${podName}-${name}`]
      : [persistentVolumeClaim.claimName],
  );
  const found = await Promise.all(names.map((name) => reader.find(PERSISTENT_VOLUME_CLAIMS, { namespace, name })));
  const claims = found.map(known).filter((claim) => claim !== undefined);
  return Promise.all(claims.map((claim) => observeClaim(claim, reader)));
}
