import type { Container } from '@holdfast/api';
import type { Log, Timer } from '@holdfast/platform';
import { graceAfterHook } from '../domain/grace.ts';
import { INTERNAL_HOOK_MS, PRE_STOP_EXTENSION_MS } from '../limits.ts';
import { type HandlerDeps, runHook } from './hooks.ts';

/**
 * Resources that the node itself assigns to a container, such as devices and processors. It is called before anything
 * of the container ends.
 */
export interface ContainerManager {
  /** A failure keeps the container running; it is stopped again later. */
  preStopContainer(id: string): Promise<void>;
}

export interface StopDeps extends HandlerDeps {
  /** Absent: the node keeps nothing. */
  readonly containerManager?: ContainerManager | undefined;
  readonly log: Log;
  readonly onHookFailure: (message: string) => void;
  /** A hook that says HTTPS was answered over HTTP. */
  readonly onHttpFallback: (message: string) => void;
}

export interface StopRequest {
  readonly id: string;
  readonly graceSeconds: number;
  /** Unknown when the pod's object is gone: then there is no hook to run. */
  readonly container: Container | undefined;
  readonly podIp: string;
  /** The signal waits for `mayTerminate`. The hook does not. */
  readonly waits: boolean;
}

export interface StopTask {
  /** Resolves when every process of the container is confirmed gone; rejects when that is not known. */
  readonly done: Promise<void>;
  /** A later request has a shorter grace period, counted from now. */
  shorten(graceSeconds: number): void;
  /** The turn of a container that waits has come: its signal is sent once its hook has ended. */
  mayTerminate(): void;
  /** The kubelet stops: nothing more is sent. */
  abandon(): void;
}

/** preStop, then the stop signal with what is left of the grace. The hook runs once, whatever becomes of it. */
export function applyStop(deps: StopDeps, request: StopRequest): StopTask {
  return new Stop(deps, request);
}

class Stop implements StopTask {
  readonly done: Promise<void>;
  readonly #deps: StopDeps;
  readonly #request: StopRequest;
  /** When the grace began to run. */
  #startedAt: number;
  readonly #hookEnded = Promise.withResolvers<void>();
  readonly #turn = Promise.withResolvers<void>();
  #graceSeconds: number;
  #hookTimer: Timer | undefined;
  #turnTimer: Timer | undefined;
  #isSignalled = false;
  #abandoned = false;

  constructor(deps: StopDeps, request: StopRequest) {
    this.#deps = deps;
    this.#request = request;
    this.#graceSeconds = request.graceSeconds;
    this.#startedAt = deps.clock.monotonic();
    if (!request.waits) this.#turn.resolve();
    this.done = this.#run();
  }

  shorten(graceSeconds: number): void {
    const now = this.#deps.clock.monotonic();
    if (now + graceSeconds * 1000 >= this.#startedAt + this.#graceSeconds * 1000) return;
    this.#graceSeconds = graceSeconds;
    this.#startedAt = now;
    if (!this.#isSignalled) {
      // Without a timer the hook of the container has not begun to use up its time, or has ended.
      if (this.#hookTimer !== undefined) this.#limitHook();
      if (this.#turnTimer !== undefined) this.#limitTurn();
      return;
    }
    // The runtime uses the earlier of both deadlines. `done` follows only the first call. Nothing awaits this one, so
    // its failure is ignored.
    void this.#deps.runtime.stopContainer(this.#request.id, this.#graceLeft() * 1000).catch(() => undefined);
  }

  mayTerminate(): void {
    this.#turn.resolve();
  }

  abandon(): void {
    this.#abandoned = true;
    this.#hookTimer?.cancel();
    this.#turnTimer?.cancel();
    this.#hookEnded.resolve();
    this.#turn.resolve();
  }

  async #run(): Promise<void> {
    await this.#runInternalHook();
    if (this.#abandoned) return;
    const hook = this.#request.container?.lifecycle?.preStop;
    if (hook !== undefined && this.#graceSeconds > 0) {
      this.#limitHook();
      const ran = this.#runHook(hook);
      await Promise.race([ran, this.#hookEnded.promise]);
      this.#hookTimer?.cancel();
      this.#hookTimer = undefined;
    }
    if (this.#request.waits) this.#limitTurn();
    await this.#turn.promise;
    this.#turnTimer?.cancel();
    this.#turnTimer = undefined;
    if (this.#abandoned) return;
    this.#isSignalled = true;
    await this.#deps.runtime.stopContainer(this.#request.id, this.#graceLeft() * 1000);
  }

  /** Before the grace begins: what the node does for itself is not taken from the container. */
  async #runInternalHook(): Promise<void> {
    const { containerManager, clock } = this.#deps;
    if (containerManager === undefined) return;
    const deadline = new AbortController();
    const late = clock.sleep(INTERNAL_HOOK_MS, deadline.signal).then(() => {
      throw new Error(`the node's own preStop of container ${this.#request.id} did not end in ${INTERNAL_HOOK_MS} ms`);
    });
    late.catch(() => undefined);
    await Promise.race([containerManager.preStopContainer(this.#request.id), late]).finally(() => deadline.abort());
    this.#startedAt = clock.monotonic();
  }

  async #runHook(hook: NonNullable<NonNullable<Container['lifecycle']>['preStop']>): Promise<void> {
    const { id, container, podIp } = this.#request;
    try {
      const timeoutMs = this.#graceSeconds * 1000 + PRE_STOP_EXTENSION_MS;
      const fallback = await runHook(this.#deps, hook, { id, podIp, timeoutMs, ports: container?.ports ?? [] });
      if (fallback !== undefined) this.#deps.onHttpFallback(fallback);
    } catch (error) {
      this.#deps.log.warn('preStop hook failed', { container: container?.name, id, error });
      // The output of a hook may be secret, and events are copied to many places: only the log has it.
      this.#deps.onHookFailure('PreStopHook failed');
    }
  }

  #limitHook(): void {
    this.#hookTimer?.cancel();
    this.#hookTimer = this.#deps.clock.timer(this.#leftMs(), () => this.#hookEnded.resolve());
  }

  /** As in Kubernetes, the signal comes when the grace is over, whoever is in front: a container may be impossible to end. */
  #limitTurn(): void {
    this.#turnTimer?.cancel();
    this.#turnTimer = this.#deps.clock.timer(this.#leftMs(), () => this.#turn.resolve());
  }

  #leftMs(): number {
    return Math.max(0, this.#graceSeconds * 1000 - (this.#deps.clock.monotonic() - this.#startedAt));
  }

  #graceLeft(): number {
    return graceAfterHook(this.#graceSeconds, this.#deps.clock.monotonic() - this.#startedAt);
  }
}
