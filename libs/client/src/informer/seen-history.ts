import { isOtherHistory, NOTHING_SEEN } from '../seen.ts';

/** What an informer can show of the history that its copy was read from. */
export class SeenHistory {
  #token: string | undefined;
  #revision = 0;

  /** To be sent with the next list or watch. */
  get token(): string {
    return this.#token ?? NOTHING_SEEN;
  }

  /** Takes note of a token for a copy that is complete up to `revision`. */
  note(token: string | undefined, revision: number): void {
    if (token === undefined || (revision < this.#revision && !this.isOver(token))) return;
    this.#token = token;
    this.#revision = revision;
  }

  /** Whether this token is about another history than the copy. */
  isOver(token: string | undefined): boolean {
    return token !== undefined && this.#token !== undefined && isOtherHistory(token, this.#token);
  }
}
