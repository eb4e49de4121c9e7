import { isPodFinished, PERSISTENT_VOLUME_CLAIMS, type PersistentVolumeClaim, PODS, type Pod } from '@holdfast/api';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { controllerReference, isTerminating, keyOf, namespaceOf, parseKey } from '../../common/meta.ts';
import { ephemeralClaimName } from '../../common/pod-claims.ts';
import { isAlreadyExists, isNamespaceTerminating } from '../../common/writes.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';

/** Claims of volumes that live as long as their pod. */
export const claimEphemeralController: ControllerDefinition = {
  name: 'ephemeral-volume',
  component: 'ephemeral_volume',
  identity: 'manager',
  watches: [PODS, PERSISTENT_VOLUME_CLAIMS],
  create: (context) => [createLoop(context)],
};

/** Returns the claims that the pod lacks. A foreign claim of the same name is never used; the scheduler reports it. */
export function decide(pod: Pod, exists: (key: string) => boolean): readonly PersistentVolumeClaim[] {
  if (isTerminating(pod) || isPodFinished(pod)) return [];
  const owner = controllerReference(pod, { apiVersion: 'v1', kind: 'Pod' });
  return (pod.spec?.volumes ?? []).flatMap((volume): readonly PersistentVolumeClaim[] => {
    const template = volume.ephemeral?.volumeClaimTemplate;
    const name = ephemeralClaimName(pod, volume);
    if (template === undefined || exists(`${namespaceOf(pod)}/${name}`)) return [];
    const { labels, annotations } = template.metadata ?? {};
    const metadata = {
      name,
      namespace: namespaceOf(pod),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [owner],
    };
    return [{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: template.spec, status: {} }];
  });
}

const hasEphemeral = (pod: Pod): boolean => (pod.spec?.volumes ?? []).some(({ ephemeral }) => ephemeral !== undefined);

function createLoop(context: ControllerContext): Loop {
  const pods = context.informers.of(PODS);
  const claims = context.informers.of(PERSISTENT_VOLUME_CLAIMS);
  return {
    name: 'ephemeral-volume',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: () => pods.list().filter(hasEphemeral).map(keyOf),
    wake: (enqueue) => [
      pods.onChange(({ key, object }) => {
        if (object !== undefined && hasEphemeral(object)) enqueue(key);
      }),
      claims.onChange(({ object, old }) => {
        const owner = object === undefined ? old?.metadata.ownerReferences?.[0] : undefined;
        if (owner?.kind === 'Pod') enqueue(`${old?.metadata.namespace ?? ''}/${owner.name}`);
      }),
    ],
    reconcile: async (key) => {
      const pod = pods.get(parseKey(key));
      if (pod === undefined) return {};
      for (const claim of decide(pod, (each) => claims.get(parseKey(each)) !== undefined)) await create(context, claim);
      return {};
    },
  };
}

async function create({ client }: ControllerContext, claim: PersistentVolumeClaim): Promise<void> {
  try {
    await client.create(PERSISTENT_VOLUME_CLAIMS, claim);
  } catch (error) {
    if (!isAlreadyExists(error) && !isNamespaceTerminating(error)) throw error;
  }
}
