import type { Container, LifecycleHandler, Pod } from '@holdfast/api';
import { describeError, type Log } from '@holdfast/platform';
import type { PodMemory } from '../domain/pod-worker-types.ts';
import { cutMessage } from '../domain/termination-message.ts';
import { ENDLESS_HOOK_MS, MESSAGE_MAX_BYTES } from '../limits.ts';
import { untilContainerEnds } from './container-life.ts';
import { type HandlerDeps, runHook } from './hooks.ts';
import type { TellPod } from './pod-events.ts';

export interface PostStartDeps extends HandlerDeps {
  readonly log: Log;
  readonly tell: TellPod;
  readonly remember: (change: (memory: PodMemory) => PodMemory) => void;
  readonly wake: () => void;
  /** The kubelet stops: the container runs on, and nobody is told what becomes of its hook. */
  readonly stopped: AbortSignal;
}

export interface StartedContainer {
  readonly pod: Pod;
  readonly container: Container;
  readonly podIp: string;
}

/** Runs the postStart hook, if there is one, in the background: a deletion must not wait for a hanging hook. */
export function runPostStart(deps: PostStartDeps, id: string, started: StartedContainer): void {
  const { remember, tell, wake, stopped } = deps;
  const { pod, container } = started;
  const hook = container.lifecycle?.postStart;
  if (hook === undefined || stopped.aborted) return;
  remember((memory) => ({ ...memory, postStart: { ...memory.postStart, [id]: 'running' } }));
  const onSuccess = (fallback: string | undefined): void => {
    remember((memory) => {
      const { [id]: _done, ...postStart } = memory.postStart;
      return { ...memory, postStart };
    });
    if (fallback !== undefined) tell(pod, { type: 'Warning', reason: 'LifecycleHTTPFallback', message: fallback });
  };
  const onFailure = (error: unknown): void => {
    if (!stopped.aborted) hookFailed(deps, { id, error, ...started });
  };
  void runWhileAlive(deps, hook, { id, ...started })
    .then(onSuccess, onFailure)
    .finally(wake);
}

/** As in Kubernetes, a hook may take as long as it likes. What it waits for cannot come once its container has ended. */
async function runWhileAlive(
  deps: PostStartDeps,
  hook: LifecycleHandler,
  { id, pod, container, podIp }: StartedContainer & { readonly id: string },
): Promise<string | undefined> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, deps.stopped]);
  const target = { id, podIp, ports: container.ports ?? [], timeoutMs: ENDLESS_HOOK_MS, signal };
  const ended = untilContainerEnds(deps, { id, podUid: pod.metadata.uid ?? '' }, signal).then(() => {
    throw new Error('the container ended before its hook');
  });
  try {
    return await Promise.race([runHook(deps, hook, target), ended]);
  } finally {
    over.abort();
  }
}

interface HookFailure extends StartedContainer {
  readonly id: string;
  readonly error: unknown;
}

function hookFailed({ remember, log, tell }: PostStartDeps, { id, error, pod, container }: HookFailure): void {
  const hookError = cutMessage(describeError(error), MESSAGE_MAX_BYTES);
  remember((memory) => ({
    ...memory,
    postStart: { ...memory.postStart, [id]: 'failed' },
    hookErrors: { ...memory.hookErrors, [id]: hookError },
  }));
  const { uid, namespace, name } = pod.metadata;
  log.warn('postStart hook failed', { pod: { uid, namespace, name }, container: container.name, error });
  // The output of a hook may be secret, and events are copied to many places: the status and the log have it.
  const message = 'PostStartHook failed';
  tell(pod, { type: 'Warning', reason: 'FailedPostStartHook', message, container: container.name });
}
