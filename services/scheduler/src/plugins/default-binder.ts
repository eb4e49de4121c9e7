import { define } from '../framework/definition.ts';

/**
 * Writes the node into the pod through the binding subresource: compare-and-swap on "has no node" and on the pod's uid.
 */
export const DEFAULT_BINDER = define('DefaultBinder', ['bind'], ({ client }) => ({
  bind: async ({ pod, nodeName }) => {
    await client.bind({ namespace: pod.namespace, name: pod.name }, nodeName, pod.uid);
    return 'bound';
  },
}));
