import { constants, createGzip, type Gzip } from 'node:zlib';
import { ACCEPT_CLAUSES_MAX, COMPRESSED_OVER_BYTES } from '../limits.ts';
import { cutOff, type RawResponse } from './raw-response.ts';

type Headers = Readonly<Record<string, string>>;

/** As in Kubernetes: quality values are ignored. */
export const takesGzip = (accepted: string | undefined): boolean =>
  accepted?.split(',', ACCEPT_CLAUSES_MAX).some((each) => each.trim() === 'gzip') === true;

/**
 * Watches and logs have no length: they are sent as they arrive. (A document that is produced while it is sent is
 * marked.) Documents that a client caches by hash are the same for all.
 */
export const isCompressed = ({ 'content-length': length = '0', etag }: Headers): boolean =>
  Number(length) > COMPRESSED_OVER_BYTES && etag === undefined;

export function compressedHeaders({ 'content-length': _length, ...headers }: Headers): Headers {
  return { ...headers, 'content-encoding': 'gzip', vary: 'Accept-Encoding' };
}

/** Compresses on other threads and writes to the response, no faster than the client reads. */
export function compressInto(raw: RawResponse): Gzip {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  gzip.on('error', () => cutOff(raw));
  raw.once('close', () => gzip.destroy());
  gzip.pipe(raw);
  return gzip;
}
