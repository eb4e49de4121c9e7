import type { FenceAgent, FenceAnswer, FenceRequest, FenceState } from './port.ts';

/** For tests and the simulator: cuts off what a callback cuts off, and remembers. */
export class MemoryAgent implements FenceAgent {
  readonly name: string;
  readonly #effect: (request: FenceRequest) => void;
  readonly #states = new Map<string, FenceState>();
  /** Everything that was asked, in order. */
  readonly requests: FenceRequest[] = [];
  /** What really happened: repeats of a request do nothing. */
  readonly effects: FenceRequest[] = [];
  /** While set, `ask` rejects with it and nothing happens. */
  failure: Error | undefined;
  /** While true, a fence has its effect but is not confirmed. */
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
