import { PODS, type Pod } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { targetOf, uidOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';

/** How a pod is made to leave its node. */
export interface PodEviction {
  evict(pod: Pod): Promise<void>;
}

/** Starts the pod's own graceful termination. It ends when the kubelet says so, which a lost node never does. */
export function createGracefulEviction(client: ApiClient): PodEviction {
  return {
    evict: async (pod) => {
      await unlessChanged(() => client.delete(PODS, targetOf(pod), { uid: uidOf(pod) }));
    },
  };
}
