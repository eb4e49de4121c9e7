import { type ContainerRuntime, RuntimeError } from '@holdfast/kubelet';
import { NO_ROOM, runtimeOnDisk } from '@holdfast/kubelet/on-disk';
import type { Clock } from '@holdfast/platform';
import type { Life } from './gate.ts';

/** The container runtime of one node on the disk that its gate gives it. What runs needs no room and goes on. */
export const gatedRuntime = (runtime: ContainerRuntime, { gate, clock }: Life & { readonly clock: Clock }) =>
  runtimeOnDisk(runtime, async (isNew) => {
    const delayMs = gate.diskDelayMs();
    if (delayMs > 0) await clock.sleep(delayMs);
    if (isNew && gate.has('diskFull')) throw new RuntimeError('IllegalState', NO_ROOM);
  });
