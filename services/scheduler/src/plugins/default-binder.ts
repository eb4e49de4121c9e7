import type { ApiClient } from '@holdfast/client';
import type { Binder } from '../framework/plugin.ts';

/** Writes the node into the pod by the binding subresource: compare-and-swap on "has no node" and on the pod's uid. */
export const createDefaultBinder = (client: ApiClient): Binder => ({
  name: 'DefaultBinder',
  bind: (pod, nodeName) => client.bind({ namespace: pod.namespace, name: pod.name }, nodeName, pod.uid),
});
