import type { Clock, Log, Timer } from '@holdfast/platform';
import { NODE_ADDRESS_LOOK_MS } from '../limits.ts';

export interface NodeAddressDeps {
  /** The address by which others reach this machine now. */
  readonly read: () => string;
  readonly clock: Clock;
  readonly log: Log;
}

/** The address of the machine, which may change while the kubelet runs: another network, another lease. */
export class NodeAddress {
  readonly #deps: NodeAddressDeps;
  readonly #listeners = new Set<() => void>();
  #current: string;
  #timer: Timer | undefined;

  constructor(deps: NodeAddressDeps) {
    this.#deps = deps;
    this.#current = deps.read();
  }

  current(): string {
    return this.#current;
  }

  /** Looks now. Listeners are called when it has changed. */
  look(): string {
    const found = this.#deps.read();
    const before = this.#current;
    if (found === before) return found;
    this.#current = found;
    this.#deps.log.info('the address of the node has changed', { before, address: found });
    for (const listener of this.#listeners) listener();
    return found;
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  start(): void {
    this.#timer ??= this.#lookLater();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #lookLater(): Timer {
    return this.#deps.clock.timer(NODE_ADDRESS_LOOK_MS, () => {
      this.#timer = this.#lookLater();
      this.look();
    });
  }
}
