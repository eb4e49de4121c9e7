import { BEATS_BEHIND_MAX } from '../limits.ts';
import { isOtherHistory, NOTHING_SEEN } from '../seen.ts';

/** What an informer can show of the history that its copy was read from. */
export class SeenHistory {
  #token: string | undefined;
  #revision = 0;
  #beatsBehind = 0;

  /** To be sent with the next list or watch. */
  get token(): string {
    return this.#token ?? NOTHING_SEEN;
  }

  /** Takes note of a token for a copy that is complete up to `revision`. */
  note(token: string | undefined, revision: number): void {
    if (token === undefined || (revision < this.#revision && !this.isOver(token))) return;
    this.#token = token;
    this.#revision = revision;
    this.#beatsBehind = 0;
  }

  /**
   * Whether a publisher is behind what this copy has seen for so long that it does not only lag: then the data may have gone back, and
   * the API has to be asked.
   */
  isBehind(revision: number): boolean {
    this.#beatsBehind = revision < this.#revision ? this.#beatsBehind + 1 : 0;
    return this.#beatsBehind >= BEATS_BEHIND_MAX;
  }

  /** Whether this token is about another history than the copy. */
  isOver(token: string | undefined): boolean {
    return token !== undefined && this.#token !== undefined && isOtherHistory(token, this.#token);
  }
}
