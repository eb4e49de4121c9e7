import type { ContainerImage } from '@holdfast/api';
import { type Clock, describeError, type Log, type Timer } from '@holdfast/platform';
import { NODE_IMAGE_NAMES_MAX, NODE_IMAGES_MAX, RUNTIME_HEALTH_MS } from '../limits.ts';
import type { ContainerRuntime } from '../runtime/port.ts';
import type { NotReady } from './node-agent.ts';

export interface RuntimeMonitorDeps {
  readonly runtime: ContainerRuntime;
  readonly runtimeName: string;
  readonly clock: Clock;
  readonly log: Log;
  /** `fault` answers differently now. */
  readonly onChange: () => void;
  /** It answers again: what happened meanwhile is not known. */
  readonly onReturn: () => void;
}

/**
 * Checks the health of the container runtime, and what the node's status reports about it. A runtime without health
 * always counts as healthy.
 */
export class RuntimeMonitor {
  readonly #deps: RuntimeMonitorDeps;
  #timer: Timer | undefined;
  #stopped = false;
  #isDown = false;
  #faults: readonly string[] = [];
  #version: string | undefined;

  constructor(deps: RuntimeMonitorDeps) {
    this.#deps = deps;
  }

  start(): void {
    if (this.#deps.runtime.health !== undefined) void this.#look();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  fault(): NotReady | undefined {
    const [fault] = this.#faults;
    return fault === undefined ? undefined : { kind: 'fault', reason: fault };
  }

  /**
   * The last known version while the runtime does not respond: the node must be able to report that it is not ready.
   */
  async version(): Promise<string> {
    const { runtime, runtimeName } = this.#deps;
    try {
      this.#version = await runtime.version();
    } catch {
      this.#version ??= `${runtimeName}://Unknown`;
    }
    return this.#version;
  }

  /** The largest images first, up to the limit of a status; `undefined` without images or without a response. */
  async images(): Promise<readonly ContainerImage[] | undefined> {
    const { images } = this.#deps.runtime;
    const found = await images?.list().catch(() => undefined);
    return found
      ?.filter(({ names }) => names.length > 0)
      .toSorted((a, b) => b.sizeBytes - a.sizeBytes)
      .slice(0, NODE_IMAGES_MAX)
      .map(({ names, sizeBytes }) => ({ names: names.slice(0, NODE_IMAGE_NAMES_MAX), sizeBytes }));
  }

  async #look(): Promise<void> {
    const faults = await this.#faultsNow();
    if (this.#stopped) return;
    const changed = faults.join() !== this.#faults.join();
    this.#faults = faults;
    if (changed) this.#deps.onChange();
    this.#timer = this.#deps.clock.timer(RUNTIME_HEALTH_MS, () => void this.#look());
  }

  async #faultsNow(): Promise<readonly string[]> {
    const { runtime, log, onReturn } = this.#deps;
    try {
      const { runtimeFault, networkFault } = (await runtime.health?.()) ?? {};
      const wasDown = this.#isDown;
      this.#isDown = false;
      if (wasDown && !this.#stopped) onReturn();
      return [runtimeFault, networkFault].filter((fault) => fault !== undefined);
    } catch (error) {
      if (!this.#isDown && !this.#stopped) log.warn('the container runtime does not answer', { error });
      this.#isDown = true;
      return [`container runtime is down: ${describeError(error)}`];
    }
  }
}
