import type { Clock } from '@holdfast/platform';
import { RUNTIME_RELIST_MS } from '../limits.ts';
import type { ContainerId, ContainerRuntime } from '../runtime/port.ts';

export interface WatchDeps {
  readonly runtime: Pick<ContainerRuntime, 'list' | 'onChange'>;
  readonly clock: Clock;
}

export interface ContainerPlace {
  readonly id: ContainerId;
  readonly podUid: string;
}

/** Resolves when the container has ended or is gone; rejects with the signal's reason. A runtime that is silent ends nothing. */
export async function untilContainerEnds(deps: WatchDeps, place: ContainerPlace, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    for (;;) {
      signal.throwIfAborted();
      // It is begun before the look: what happens meanwhile leads to another one.
      const changed = untilChange(deps, place.podUid, either);
      changed.catch(() => undefined);
      if (await hasEnded(deps.runtime, place)) return;
      await changed;
    }
  } finally {
    over.abort();
  }
}

async function hasEnded(runtime: WatchDeps['runtime'], { id, podUid }: ContainerPlace): Promise<boolean> {
  try {
    const sandboxes = await runtime.list({ podUid });
    const found = sandboxes.flatMap(({ containers }) => containers).find((each) => each.id === id);
    return found === undefined || found.state === 'exited';
  } catch {
    // Nothing is known: the next look may tell.
    return false;
  }
}

/** A hint of the runtime may be lost: after a while it counts as given. */
function untilChange({ runtime, clock }: WatchDeps, podUid: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      unsubscribe();
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
    };
    const onChange = (): void => {
      leave();
      resolve();
    };
    const onAbort = (): void => {
      leave();
      reject(signal.reason);
    };
    const unsubscribe = runtime.onChange((changed) => {
      if (changed === podUid) onChange();
    });
    const timer = clock.timer(RUNTIME_RELIST_MS, onChange);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
