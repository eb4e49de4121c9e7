import type { FenceAgent, FenceAnswer, FenceRequest, FenceState } from '@holdfast/fencer';
import { isOff, type Scene } from './scene.ts';

const LONGEST_WORK_MS = 12_000;
const CHANCE_OF_FAILURE = 0.2;

/** Turns machines off and on. It works for a while before it confirms, and some requests fail. */
export class PowerAgent implements FenceAgent {
  readonly name = 'power';
  readonly #scene: Scene;
  readonly #states = new Map<string, FenceState>();
  /** The last action that was asked for, by request: an earlier one has no effect any more. */
  readonly #wanted = new Map<string, FenceRequest['action']>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  async ask(request: FenceRequest): Promise<FenceAnswer> {
    const { kernel } = this.#scene.cluster;
    const { action, requestId } = request;
    const random = kernel.random(`power ${requestId} ${kernel.steps}`);
    if (random.float() < CHANCE_OF_FAILURE) throw new Error('the power switch does not answer');
    if (action !== 'status' && this.#wanted.get(requestId) !== action) {
      this.#wanted.set(requestId, action);
      this.#states.set(requestId, 'pending');
      const fire = (): void => this.#act(request);
      kernel.schedule({ delayMs: random.float() * LONGEST_WORK_MS, label: `power ${action}`, owner: 'hunt', fire });
    }
    const state = this.#states.get(requestId) ?? 'unfenced';
    return { state, message: `power: ${state}` };
  }

  #act({ action, requestId, node: { name } }: FenceRequest): void {
    if (this.#wanted.get(requestId) !== action) return;
    const { cluster, fenced } = this.#scene;
    this.#states.set(requestId, action === 'fence' ? 'fenced' : 'unfenced');
    if (action === 'fence') {
      const isOffAlready = isOff(this.#scene, name);
      this.#scene.poweredOff.delete(name);
      fenced.add(name);
      if (!isOffAlready) cluster.powerOff(name);
    } else if (fenced.delete(name) && !isOff(this.#scene, name)) cluster.powerOn(name);
  }
}
