import { PODS } from '@holdfast/api';
import type { ControllerManagerDeps } from '@holdfast/controller-manager';
import type { ContainerRuntime } from '@holdfast/kubelet';

/** A node controller that does not wait for the kubelet's word. */
export const forceDelete: NonNullable<ControllerManagerDeps['podEviction']> = (client) => ({
  evict: async ({ metadata: { namespace = '', name = '', uid = '' } }) => {
    await client.delete(PODS, { namespace, name }, { gracePeriodSeconds: 0, uid });
  },
});

/** A node that reports the end immediately after the stop request, while the processes are still ending. */
export function confirmsTooEarly(runtime: ContainerRuntime): ContainerRuntime {
  const toldToStop = new Set<string>();
  return {
    ...runtime,
    stopContainer: async (id, graceMs) => {
      toldToStop.add(id);
      runtime.stopContainer(id, graceMs).catch(() => undefined);
    },
    stopSandbox: async (id, graceMs) => {
      runtime.stopSandbox(id, graceMs).catch(() => undefined);
    },
    removeContainer: async () => {},
    removeSandbox: async () => {},
    list: async (filter) => {
      const sandboxes = await runtime.list(filter);
      return sandboxes.filter(({ containers }) => !containers.some(({ id }) => toldToStop.has(id)));
    },
  };
}
