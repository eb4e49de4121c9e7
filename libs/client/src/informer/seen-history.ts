import { BEATS_BEHIND_MAX } from '../limits.ts';
import { isOtherHistory, NOTHING_SEEN } from '../seen.ts';

/** The evidence an informer has about the history that its copy comes from. */
export class SeenHistory {
  #token: string | undefined;
  #revision = 0;
  #beatsBehind = 0;

  /** Send this with the next list or watch. */
  get token(): string {
    return this.#token ?? NOTHING_SEEN;
  }

  /** Records a token for a copy that is complete up to `revision`. */
  note(token: string | undefined, revision: number): void {
    if (token === undefined || (revision < this.#revision && !this.isOver(token))) return;
    this.#token = token;
    this.#revision = revision;
    this.#beatsBehind = 0;
  }

  /**
   * True when a publisher has been behind this copy for longer than lag explains. Then the data may have gone back, and
   * the informer must ask the API.
   */
  isBehind(revision: number): boolean {
    this.#beatsBehind = revision < this.#revision ? this.#beatsBehind + 1 : 0;
    return this.#beatsBehind >= BEATS_BEHIND_MAX;
  }

  /** True when this token belongs to another history than the copy. */
  isOver(token: string | undefined): boolean {
    return token !== undefined && this.#token !== undefined && isOtherHistory(token, this.#token);
  }
}
