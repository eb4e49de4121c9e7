import { PODS, type Pod, type PodStatus } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { statusPatch } from '../domain/status-patch.ts';

export interface PodIdentity {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** Access to the object of a pod: uncached reads, and status writes. */
export interface PodObject {
  /** The newest of this name, whatever its UID. */
  read(identity: PodIdentity): Promise<Pod | undefined>;
  /** Rejects with a conflict when the stored object is another one than `pod`. */
  writeStatus(pod: Pod, status: PodStatus): Promise<Pod>;
  /** Everything of it is gone: the object may go, too. */
  remove(identity: PodIdentity): Promise<void>;
}

export function createApiPodObject(client: ApiClient, nodeName: string): PodObject {
  return {
    // Not a get: the name may belong to a pod of another node by now, which this node may not see. Nor would it matter: a
    // pod never leaves its node, so what is not listed here is gone.
    read: async ({ namespace, name }) => {
      const fieldSelector = `metadata.name=${name},spec.nodeName=${nodeName}`;
      return (await client.list(PODS, { namespace, fieldSelector })).items[0];
    },
    writeStatus: (pod, status) => {
      const { namespace = '', name = '' } = pod.metadata;
      const body = statusPatch(pod, status);
      return client.patch(PODS, { namespace, name }, { type: 'merge', body, subresource: 'status' });
    },
    remove: async ({ uid, namespace, name }) => {
      await client.delete(PODS, { namespace, name }, { gracePeriodSeconds: 0, uid });
    },
  };
}
