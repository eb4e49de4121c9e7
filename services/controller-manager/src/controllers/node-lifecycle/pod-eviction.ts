import { PODS, type Pod } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { targetOf, uidOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';

/** Evicts a pod from its node. */
export interface PodEviction {
  evict(pod: Pod): Promise<void>;
}

/** Starts the pod's own graceful termination. It ends when the kubelet confirms, which a lost node never does. */
export function createGracefulEviction(client: ApiClient): PodEviction {
  return {
    evict: async (pod) => {
      await unlessChanged(() => client.delete(PODS, targetOf(pod), { uid: uidOf(pod) }));
    },
  };
}
