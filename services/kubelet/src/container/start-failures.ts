import type { Container, Pod } from '@holdfast/api';
import { type Clock, describeError, type Log } from '@holdfast/platform';
import { ContainerConfigError } from '../domain/environment.ts';
import type { PodMemory, StartFailure } from '../domain/pod-worker-types.ts';
import { VolumeError } from '../domain/volume-files.ts';
import {
  ATTACH_RETRY_INITIAL_MS,
  ATTACH_RETRY_MAX_MS,
  ATTACH_WAITS_UNTOLD,
  START_RETRY_MS,
  VOLUME_RETRY_INITIAL_MS,
} from '../limits.ts';
import { RuntimeError } from '../runtime/port.ts';
import { START_RETRY_MS as FENCED_RETRY_MS } from '../self-fencing/limits.ts';
import { PromiseWait } from '../self-fencing/promise-keeper.ts';
import { AttachWait } from '../volumes/volume-attachments.ts';
import type { TellPod } from './pod-events.ts';
import { ImageWait } from './pod-images.ts';

export interface StartFailuresDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly tell: TellPod;
  readonly remember: (change: (memory: PodMemory) => PodMemory) => void;
}

/** The name under which the failure of the sandbox is remembered; the names of containers are not empty. */
const SANDBOX = '';

/** Remembers why the sandbox or a container of one pod could not be started, and when the next attempt is due. */
export class StartFailures {
  readonly #deps: StartFailuresDeps;
  #volumeFailures = 0;
  #attachWaits = 0;

  constructor(deps: StartFailuresDeps) {
    this.#deps = deps;
  }

  /** The volumes are set up: the next failure is retried after the shortest pause again. */
  volumesReady(): void {
    this.#volumeFailures = 0;
  }

  attached(): void {
    this.#attachWaits = 0;
  }

  /** The sandbox (`''`) or the container was started, or its image is there. */
  clear(name: string): void {
    this.#deps.remember((memory) => {
      const { [name]: _cleared, ...failures } = memory.failures;
      return { ...memory, failures };
    });
  }

  sandboxFailed(pod: Pod, error: unknown): void {
    if (this.#isKnownWait(pod, SANDBOX, error)) return;
    const reason = 'FailedCreatePodSandBox';
    this.#failed(pod, SANDBOX, { reason, error, retryMs: START_RETRY_MS });
    const message = `Failed to create pod sandbox: ${describeError(error)}`;
    this.#deps.tell(pod, { type: 'Warning', reason, message });
  }

  containerFailed(pod: Pod, container: Container, error: unknown): void {
    const { name } = container;
    if (error instanceof ImageWait) {
      this.imageMissing(pod, container, error);
      return;
    }
    if (this.#isKnownWait(pod, name, error)) return;
    const reason = error instanceof ContainerConfigError ? 'CreateContainerConfigError' : 'CreateContainerError';
    this.#failed(pod, name, { reason, error, retryMs: START_RETRY_MS });
    const message = `Error: ${describeError(error)}`;
    this.#deps.tell(pod, { type: 'Warning', reason: 'Failed', message, container: name });
  }

  imageMissing(pod: Pod, { name, image }: Container, { reason = creating(pod), message, retryMs }: ImageWait): void {
    this.#remember(name, { reason, message, retryMs, image });
  }

  /** Handles what the sandbox and containers wait for alike: attachments, the promise of the node, volumes. */
  #isKnownWait(pod: Pod, name: string, error: unknown): boolean {
    if (error instanceof AttachWait) this.#waitForAttach(pod, name, error);
    else if (isFenced(error)) this.#waitForPromise(pod, name, error);
    else if (error instanceof VolumeError) this.#volumesFailed(pod, name, error);
    else return false;
    return true;
  }

  #waitForPromise(pod: Pod, name: string, error: unknown): void {
    this.#remember(name, { reason: creating(pod), message: describeError(error), retryMs: FENCED_RETRY_MS });
  }

  #volumesFailed(pod: Pod, name: string, error: VolumeError): void {
    const retryMs = Math.min(VOLUME_RETRY_INITIAL_MS * 2 ** this.#volumeFailures, START_RETRY_MS);
    this.#volumeFailures++;
    this.#failed(pod, name, { reason: creating(pod), error, retryMs });
    this.#deps.tell(pod, { type: 'Warning', reason: 'FailedMount', message: describeError(error) });
  }

  /**
   * The attach controller reports what the volume waits for. After a while this reports it, too, in case there is no
   * such controller.
   */
  #waitForAttach(pod: Pod, name: string, { message }: AttachWait): void {
    const retryMs = Math.min(ATTACH_RETRY_INITIAL_MS * 2 ** this.#attachWaits, ATTACH_RETRY_MAX_MS);
    this.#attachWaits++;
    this.#remember(name, { reason: creating(pod), message, retryMs });
    if (this.#attachWaits % ATTACH_WAITS_UNTOLD !== 0) return;
    this.#deps.tell(pod, { type: 'Warning', reason: 'FailedMount', message: `Unable to attach volumes: ${message}` });
  }

  #failed({ metadata }: Pod, name: string, { reason, error, retryMs }: Failure): void {
    this.#remember(name, { reason, message: describeError(error), retryMs });
    const { uid, namespace } = metadata;
    const pod = { uid, namespace, name: metadata.name };
    this.#deps.log.warn('container not started', { pod, container: name, error });
  }

  #remember(name: string, { retryMs, ...failed }: Omit<StartFailure, 'retryAt'> & { readonly retryMs: number }): void {
    const { clock, remember } = this.#deps;
    const failure = { ...failed, retryAt: clock.now() + retryMs };
    remember((memory) => ({ ...memory, failures: { ...memory.failures, [name]: failure } }));
  }
}

interface Failure {
  readonly reason: string;
  readonly error: unknown;
  readonly retryMs: number;
}

/** Not an error: the pod must be confirmed again. */
const isFenced = (error: unknown): boolean =>
  error instanceof PromiseWait || (error instanceof RuntimeError && error.code === 'Fenced');

const creating = ({ spec }: Pod): string =>
  (spec.initContainers ?? []).length > 0 ? 'PodInitializing' : 'ContainerCreating';
