import type { Container, Pod } from '@holdfast/api';
import { describeError, type Log } from '@holdfast/platform';
import type { PodMemory } from '../domain/pod-worker-types.ts';
import { cutMessage } from '../domain/termination-message.ts';
import { MESSAGE_MAX_BYTES, POST_START_TIMEOUT_MS } from '../limits.ts';
import { type HandlerDeps, runHook } from './hooks.ts';
import type { TellPod } from './pod-events.ts';

export interface PostStartDeps extends HandlerDeps {
  readonly log: Log;
  readonly tell: TellPod;
  readonly remember: (change: (memory: PodMemory) => PodMemory) => void;
  readonly wake: () => void;
}

export interface StartedContainer {
  readonly pod: Pod;
  readonly container: Container;
  readonly podIp: string;
}

/** Runs the postStart hook, if there is one, in the background: a deletion must not wait for a hanging hook. */
export function runPostStart(deps: PostStartDeps, id: string, started: StartedContainer): void {
  const { remember, tell, wake } = deps;
  const { pod, container, podIp } = started;
  const hook = container.lifecycle?.postStart;
  if (hook === undefined) return;
  remember((memory) => ({ ...memory, postStart: { ...memory.postStart, [id]: 'running' } }));
  const target = { id, podIp, ports: container.ports ?? [], timeoutMs: POST_START_TIMEOUT_MS };
  const onSuccess = (fallback: string | undefined): void => {
    remember((memory) => {
      const { [id]: _done, ...postStart } = memory.postStart;
      return { ...memory, postStart };
    });
    if (fallback !== undefined) tell(pod, { type: 'Warning', reason: 'LifecycleHTTPFallback', message: fallback });
  };
  const onFailure = (error: unknown): void => hookFailed(deps, { id, error, ...started });
  void runHook(deps, hook, target).then(onSuccess, onFailure).finally(wake);
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
