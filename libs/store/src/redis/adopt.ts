import { type Clock, type Log, OperatorError } from '@holdfast/platform';
import type { TlsClient } from '@holdfast/platform/tls-client';
import type { Redis } from 'ioredis';
import { REDIS_COMMAND_TIMEOUT_MS, REDIS_START_TIMEOUT_MS } from '../limits.ts';
import type { Revision } from '../port.ts';
import { Link } from './link.ts';
import { mendObjects } from './mend.ts';
import { unreachableError, unsafeError } from './open-errors.ts';
import { renewFile } from './renewed-file.ts';
import { adopt } from './server.ts';

export interface AdoptRedisOptions {
  readonly url: string;
  readonly tls?: TlsClient;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Ends a halt: continues with this server's data in a new epoch. Running API servers keep refusing until they restart.
 */
export const adoptRedisStore = (options: AdoptRedisOptions): Promise<Revision> =>
  withServer(options, 'adopt', async (redis) => {
    await mendObjects(redis, options.log);
    const adopted = await adopt(redis);
    if (adopted === undefined) throw emptyError();
    return adopted.revision;
  });

/** A connection of its own to a server whose append-only file is renewed. */
export async function withServer<T>(
  { url, tls, clock, log }: AdoptRedisOptions,
  name: string,
  use: (redis: Redis) => Promise<T>,
): Promise<T> {
  const admit = async (): Promise<void> => {};
  const link = new Link({ url, tls, name, commandTimeoutMs: REDIS_COMMAND_TIMEOUT_MS, clock, log, admit });
  try {
    const redis = await link.ready(REDIS_START_TIMEOUT_MS);
    if (redis === undefined) throw unreachableError(url, link.lastError ?? new Error('it gave no answer'));
    await assertRenewed(redis, { clock, log });
    return await use(redis);
  } finally {
    link.close();
  }
}

/** A server that knows no rewrite is not ours to judge here; a right that is missing can be given. */
async function assertRenewed(redis: Redis, { clock, log }: Pick<AdoptRedisOptions, 'clock' | 'log'>): Promise<void> {
  const refusal = await renewFile(redis, clock);
  if (refusal === undefined) return;
  if (refusal.includes('NOPERM')) throw unsafeError([refusal]);
  log.warn('the store is not set up to be durable', { reason: refusal });
}

const emptyError = (): OperatorError =>
  new OperatorError({
    code: 'STORE_EMPTY',
    message: 'The Redis server holds no store of Holdfast',
    nextStep: 'Restore the data first, or point to the server that has them.',
  });
