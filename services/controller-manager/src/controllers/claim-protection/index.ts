import { CLAIM_FINALIZER, PERSISTENT_VOLUME_CLAIMS, type PersistentVolumeClaim, PODS, type Pod } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { withFinalizer, withoutFinalizer } from '../../common/finalizers.ts';
import { isTerminating, keyOf, namespaceOf, parseKey } from '../../common/meta.ts';
import { claimKeysOf } from '../../common/pod-claims.ts';
import { unlessChanged } from '../../common/writes.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';

/** A claim that a pod on a node uses outlives its deletion. */
export const claimProtectionController: ControllerDefinition = {
  name: 'pvc-protection',
  component: 'pvc-protection-controller',
  identity: 'manager',
  watches: [PERSISTENT_VOLUME_CLAIMS, PODS],
  create: (context) => [createLoop(context)],
};

/** The claim with or without its protection; undefined when it is as it should be. */
export function decide(claim: PersistentVolumeClaim, pods: readonly Pod[]): PersistentVolumeClaim | undefined {
  if (!isTerminating(claim)) return withFinalizer(claim, CLAIM_FINALIZER);
  return pods.some((pod) => uses(pod, claim)) ? undefined : withoutFinalizer(claim, CLAIM_FINALIZER);
}

/** A pod without a node uses nothing yet, and no node starts it with a claim that is being deleted. */
const uses = (pod: Pod, claim: PersistentVolumeClaim): boolean =>
  (pod.spec?.nodeName ?? '') !== '' && claimKeysOf(pod).includes(keyOf(claim));

function createLoop(context: ControllerContext): Loop {
  const claims = context.informers.of(PERSISTENT_VOLUME_CLAIMS);
  const pods = context.informers.of(PODS);
  return {
    name: 'pvc-protection',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => claims.list().map(keyOf),
    wake: (enqueue) => [
      claims.onChange(({ key, object }) => {
        if (object !== undefined && decide(object, []) !== undefined) enqueue(key);
      }),
      pods.onChange(({ object, old }) => {
        if (object !== undefined || old === undefined) return;
        for (const key of claimKeysOf(old)) if (claims.get(parseKey(key)) !== undefined) enqueue(key);
      }),
    ],
    reconcile: async (key) => {
      const claim = claims.get(parseKey(key));
      if (claim !== undefined) await pass(context, claim);
      return {};
    },
  };
}

/** Verifies with the API what the cache shows as free, before the protection is removed. */
async function pass({ client, informers }: ControllerContext, claim: PersistentVolumeClaim): Promise<void> {
  const namespace = namespaceOf(claim);
  const seen = decide(claim, isTerminating(claim) ? informers.of(PODS).list(namespace) : []);
  if (seen === undefined) return;
  const live = isTerminating(claim) ? (await client.list(PODS, { namespace })).items : [];
  const changed = decide(claim, live);
  if (changed !== undefined) await unlessChanged(() => client.update(PERSISTENT_VOLUME_CLAIMS, changed));
}
