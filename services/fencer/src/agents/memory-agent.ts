import type { FenceAgent, FenceAnswer, FenceRequest, FenceState } from './port.ts';

/** For tests and the simulator: calls a callback to cut off and records the requests. */
export class MemoryAgent implements FenceAgent {
  readonly name: string;
  readonly #effect: (request: FenceRequest) => void;
  readonly #states = new Map<string, FenceState>();
  /** All requests in order. */
  readonly requests: FenceRequest[] = [];
  /** Requests with an effect: repetitions have none. */
  readonly effects: FenceRequest[] = [];
  /** While set, `ask` rejects with it and has no effect. */
  failure: Error | undefined;
  /** While true, a fence takes effect but is not confirmed. */
  isSlow = false;

  constructor(name: string, effect: (request: FenceRequest) => void = () => {}) {
    this.name = name;
    this.#effect = effect;
  }

  async ask(request: FenceRequest): Promise<FenceAnswer> {
    this.requests.push(request);
    if (this.failure !== undefined) throw this.failure;
    const before = this.#states.get(request.requestId) ?? 'unfenced';
    const after = request.action === 'status' ? before : request.action === 'fence' ? 'fenced' : 'unfenced';
    if (after !== before) {
      this.#states.set(request.requestId, after);
      this.effects.push(request);
      this.#effect(request);
    }
    return this.isSlow ? { state: 'pending', message: 'at work' } : { state: after, message: `${this.name}: ${after}` };
  }
}
