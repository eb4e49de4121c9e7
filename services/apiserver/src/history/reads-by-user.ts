import { StatusError } from '@holdfast/machinery';
import { HISTORY_READS_OF_USER_MAX } from '../limits.ts';
import { createKeyedMutex } from '../turns/keyed-mutex.ts';

/** A read may decompress all that is kept: those of one user run one after the other, and only a few wait. */
export class ReadsByUser {
  readonly #mutex = createKeyedMutex();
  readonly #counts = new Map<string, number>();

  async run<T>(user: string, work: () => Promise<T>): Promise<T> {
    const count = this.#counts.get(user) ?? 0;
    if (count >= HISTORY_READS_OF_USER_MAX) throw tooManyReads();
    this.#counts.set(user, count + 1);
    try {
      return await this.#mutex.run(user, work);
    } finally {
      const left = (this.#counts.get(user) ?? 1) - 1;
      if (left === 0) this.#counts.delete(user);
      else this.#counts.set(user, left);
    }
  }
}

const tooManyReads = (): StatusError =>
  new StatusError({
    code: 429,
    reason: 'TooManyRequests',
    message: 'too many reads of the history by one user, please try again later',
    details: { retryAfterSeconds: 1 },
  });
