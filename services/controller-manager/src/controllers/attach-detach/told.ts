import { TOLD_PER_VOLUME_MAX } from '../../limits.ts';

/** Remembers which waiting pods already got an event about a volume, so that each gets it once. */
export class Told {
  readonly #byVolume = new Map<string, Set<string>>();

  isNew(volume: string, text: string): boolean {
    const texts = this.#byVolume.get(volume) ?? new Set();
    this.#byVolume.set(volume, texts);
    if (texts.has(text)) return false;
    if (texts.size >= TOLD_PER_VOLUME_MAX) texts.clear();
    texts.add(text);
    return true;
  }

  forget(volume: string): void {
    this.#byVolume.delete(volume);
  }
}
