import type { Container, Pod } from '@holdfast/api';
import { describeError } from '@holdfast/platform';
import type { PodMemory } from '../domain/pod-worker-types.ts';
import { POST_START_TIMEOUT_MS } from '../limits.ts';
import { type HandlerDeps, runHook } from './hooks.ts';
import type { TellPod } from './pod-events.ts';

export interface PostStartDeps extends HandlerDeps {
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
export function runPostStart(deps: PostStartDeps, id: string, { pod, container, podIp }: StartedContainer): void {
  const { remember, tell, wake } = deps;
  const hook = container.lifecycle?.postStart;
  if (hook === undefined) return;
  remember((memory) => ({ ...memory, postStart: { ...memory.postStart, [id]: 'running' } }));
  const target = { id, podIp, ports: container.ports ?? [], timeoutMs: POST_START_TIMEOUT_MS };
  const onSuccess = (): void =>
    remember((memory) => {
      const { [id]: _done, ...postStart } = memory.postStart;
      return { ...memory, postStart };
    });
  const onFailure = (error: unknown): void => {
    remember((memory) => ({ ...memory, postStart: { ...memory.postStart, [id]: 'failed' } }));
    const message = `PostStartHook failed: ${describeError(error)}`;
    tell(pod, { type: 'Warning', reason: 'FailedPostStartHook', message, container: container.name });
  };
  void runHook(deps, hook, target).then(onSuccess, onFailure).finally(wake);
}
