import { describeError, OperatorError } from '@holdfast/platform';
import { withoutCredentials } from '@holdfast/platform/store-address';
import { explainConnection } from '@holdfast/platform/tls-client';
import { LAYOUT_FORMAT } from './layout.ts';
import type { Inspection } from './replies.ts';

export function assertLayout({ meta }: Inspection): void {
  if (meta === undefined) {
    throw new OperatorError({
      code: 'STORE_DAMAGED',
      message: 'The Redis server holds a history of Holdfast but not its meta record',
      nextStep: 'Restore the data of the server from a backup, or point to another server.',
    });
  }
  if (meta.format !== LAYOUT_FORMAT) {
    throw new OperatorError({
      code: 'STORE_FORMAT',
      message: `The Redis server holds data of format ${meta.format}; this version reads format ${LAYOUT_FORMAT}`,
      nextStep: 'Start the version of Holdfast that wrote it, or point to another server.',
    });
  }
}

export function unreachableError(url: string, cause: unknown): OperatorError {
  return new OperatorError({
    code: 'STORE_UNREACHABLE',
    message: `Redis at ${withoutCredentials(url)} cannot be used: ${reasonOf(url, cause)}`,
    nextStep: 'Check that the server runs, that the address and the credentials are right, and start again.',
    cause,
  });
}

function reasonOf(url: string, cause: unknown): string {
  const reason = connectionReason(cause);
  const encrypted = url.startsWith('rediss://');
  if (encrypted && /no answer|ETIMEDOUT/.test(reason))
    return `${reason}; a server that does not speak TLS keeps silent like this`;
  if (!encrypted && /ECONNRESET|closed/.test(reason))
    return `${reason}; a server that requires TLS closes connections like this: try rediss://`;
  return reason;
}

/** Why there is no connection. */
export const connectionReason = (cause: unknown): string =>
  explainConnection('store', cause) ?? withoutJargon(describeError(cause));

/**
 * Removes ioredis's advice about its own settings. It appears when a server closes the connection before the handshake,
 * as a server that is not Redis does.
 */
const withoutJargon = (text: string): string =>
  text.includes("Stream isn't writeable") ? 'the connection was closed at once' : text;

export function unfitError(reasons: readonly string[]): OperatorError {
  return new OperatorError({
    code: 'STORE_UNFIT',
    message: `The Redis server cannot serve as the store: ${reasons.join('; ')}`,
    nextStep: 'Point to a server that is a master with a working disk, and start again.',
  });
}

export function unsafeError(reasons: readonly string[]): OperatorError {
  return new OperatorError({
    code: 'STORE_UNSAFE',
    message: `The Redis server would lose acknowledged writes or is not known to keep them: ${reasons.join('; ')}`,
    nextStep:
      'Correct these settings in redis.conf and restart the server (a right to BGREWRITEAOF that is missing: give it with ACL SETUSER, without a restart), or accept it for an experiment with --allow-unsafe-store.',
  });
}
