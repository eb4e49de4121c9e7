import { LEASES, NODE_LEASES_NAMESPACE, NODES, type NodePromise, PODS, promiseOf } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { nameOf, targetOf, uidOf } from '../../common/meta.ts';
import { inParallel, unlessChanged } from '../../common/writes.ts';
import { POD_GC_BATCH_PODS, POD_GC_NODE_QUARANTINE_MS, POD_GC_PERIOD_MS } from '../../limits.ts';
import { type CollectPod, decide, isEndedByWatchdog } from './decide.ts';
import { decideQuarantine, type Quarantine } from './quarantine.ts';

const EVERYTHING = 'all pods';

/** Always runs: it alone ends pods whose node is gone, so there is no setting that leaves it out. */
export const podGarbageController = (settings: { readonly terminatedPodThreshold: number }): ControllerDefinition => ({
  name: 'pod-garbage-collector',
  component: 'pod-garbage-collector',
  identity: 'podGc',
  isMandatory: true,
  watches: [PODS, NODES, LEASES],
  create: (context) => [createLoop(context, settings)],
});

function createLoop(context: ControllerContext, settings: { readonly terminatedPodThreshold: number }): Loop {
  let quarantine: Quarantine = new Map();
  const promise = (name: string): NodePromise | undefined =>
    promiseOf(context.informers.of(LEASES).get({ namespace: NODE_LEASES_NAMESPACE, name }));
  return {
    name: 'pod-garbage-collector',
    workers: 1,
    initialKeys: () => [EVERYTHING],
    // These are urgent; everything else can wait for the next periodic pass.
    wake: (enqueue) => [
      context.informers.of(PODS).onChange(({ object }) => {
        if (object !== undefined && isEndedByWatchdog(object, { promiseOf: promise })) enqueue(EVERYTHING);
      }),
      context.informers.of(LEASES).onChange(({ object, old }) => {
        if (promiseOf(object)?.isBroken === true && promiseOf(old)?.isBroken !== true) enqueue(EVERYTHING);
      }),
    ],
    reconcile: async () => {
      const pods = context.informers.of(PODS).list();
      const nodes = context.informers.of(NODES).list();
      const decision = decideQuarantine(
        quarantine,
        {
          named: new Set(pods.map((pod) => pod.spec.nodeName ?? '').filter((name) => name !== '')),
          known: new Set(nodes.map(nameOf)),
        },
        { monotonicMs: context.clock.monotonic(), quarantineMs: POD_GC_NODE_QUARANTINE_MS },
      );
      quarantine = decision.next;
      const absentNodes = await provenAbsent(context, decision.due);
      const actions = decide({ pods, nodes, absentNodes, promiseOf: promise, ...settings }, context.clock.now());
      const failure = await inParallel(actions.slice(0, POD_GC_BATCH_PODS), (action) => collect(context, action));
      if (failure !== undefined) context.log.warn('some pods could not be collected', { error: failure });
      return { requeueAfterMs: POD_GC_PERIOD_MS };
    },
  };
}

/** Asks the API itself: a cache that lost a node is no proof. */
async function provenAbsent(context: ControllerContext, names: readonly string[]): Promise<ReadonlySet<string>> {
  const absent = new Set<string>();
  const failure = await inParallel(names, async (name) => {
    if ((await context.client.find(NODES, { name })) === undefined) absent.add(name);
  });
  if (failure !== undefined) context.log.warn('a missing node could not be confirmed', { error: failure });
  return absent;
}

/** First the truth about the pod, then its end. A pod that changed meanwhile is left for the next look. */
async function collect(context: ControllerContext, { pod, marked }: CollectPod): Promise<void> {
  const { client } = context;
  if (marked !== undefined && (await unlessChanged(() => client.updateStatus(PODS, marked))) === undefined) return;
  // A finished pod is removed by any delete; only an unfinished one needs the permission to be ended.
  const force = marked === undefined ? {} : { gracePeriodSeconds: 0 };
  await unlessChanged(() => client.delete(PODS, targetOf(pod), { ...force, uid: uidOf(pod) }));
}
