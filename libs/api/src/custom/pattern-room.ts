import { patternSize } from './pattern-size.ts';

/** The room for patterns that are compiled for one write. It is the same whether they are known already or not. */
export class PatternRoom {
  readonly #patterns = new Set<string>();
  #left: number;

  constructor(weight: number) {
    this.#left = weight;
  }

  /** Counts each pattern once. */
  fits(pattern: string): boolean {
    if (!this.#patterns.has(pattern)) this.#left -= patternSize(pattern).weight;
    this.#patterns.add(pattern);
    return this.#left >= 0;
  }
}
