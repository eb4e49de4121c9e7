import { createSeededRandom, type Random } from '@holdfast/platform';

/** How a node is lost. The names that the simulator knows as well have the same meaning there. */
export const LOSS_KINDS = {
  isolate: 'the node loses its network',
  'cut-api': 'nothing passes between the node and the API servers',
  'cut-to-api': 'what the node sends to the API servers is lost',
  'cut-from-api': 'what the API servers send to the node is lost',
  'power-loss': 'the machine stops (SIGKILL), and starts again later',
  pause: 'the machine is suspended, and starts again from the beginning later',
  'kubelet-stopped': 'the kubelet is stopped (SIGSTOP), and continued later',
} as const;

export type LossKind = keyof typeof LOSS_KINDS;

const CHANCE_OF_TWO = 0.3;

/** Draws losses from a seed without an end. */
export class LossPlan {
  readonly #random: Random;
  readonly #kinds: readonly LossKind[];
  readonly #deck: LossKind[] = [];

  constructor(seed: number, kinds: readonly LossKind[]) {
    this.#random = createSeededRandom(seed, 'losses');
    this.#kinds = kinds;
  }

  /** The nodes that are lost at the same time: one or two, where as many are possible. */
  next(possible: number): readonly LossKind[] {
    const isTwo = this.#random.float() < CHANCE_OF_TWO && possible > 1;
    return isTwo ? [...this.#draw(), ...this.#draw()] : this.#draw();
  }

  /** Each kind comes once before any comes again. */
  #draw(): readonly LossKind[] {
    if (this.#deck.length === 0) this.#deck.push(...this.#kinds);
    return this.#deck.splice(this.#random.int(this.#deck.length), 1);
  }
}
