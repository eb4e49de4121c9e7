import { type LabelSelectorMatcher, parseLabelSelector } from '@holdfast/machinery';
import { KNOWN_SELECTORS_CHARS_MAX } from '../limits.ts';

/** Label selectors that were parsed lately: hundreds of watches may ask for the same one, and a long one takes 25 ms. */
export class KnownSelectors {
  readonly #parse: (text: string) => LabelSelectorMatcher;
  /** The most recently used one comes last. */
  readonly #known = new Map<string, LabelSelectorMatcher>();
  #chars = 0;

  constructor(parse: (text: string) => LabelSelectorMatcher = parseLabelSelector) {
    this.#parse = parse;
  }

  /** Characters of all texts that are kept, and what their entries cost besides. */
  get chars(): number {
    return this.#chars;
  }

  /** Throws SelectorError. */
  parse(text: string): LabelSelectorMatcher {
    const known = this.#known.get(text);
    if (known !== undefined) {
      this.#known.delete(text);
      this.#known.set(text, known);
      return known;
    }
    // A copy: a part of a URL would keep the whole URL in memory, and what is parsed has parts of the text.
    const own = Buffer.from(text).toString();
    const parsed = this.#parse(own);
    this.#keep(own, parsed);
    return parsed;
  }

  #keep(text: string, parsed: LabelSelectorMatcher): void {
    if (costOf(text) > KNOWN_SELECTORS_CHARS_MAX) return;
    this.#known.set(text, parsed);
    this.#chars += costOf(text);
    for (const oldest of this.#known.keys()) {
      if (this.#chars <= KNOWN_SELECTORS_CHARS_MAX) return;
      this.#known.delete(oldest);
      this.#chars -= costOf(oldest);
    }
  }
}

/** A short one takes memory for its entry and what was parsed, too. */
const costOf = (text: string): number => text.length + ENTRY_CHARS;
const ENTRY_CHARS = 64;
