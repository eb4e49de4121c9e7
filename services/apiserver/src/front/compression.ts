import { constants, createGzip, type Gzip } from 'node:zlib';
import { COMPRESSED_OVER_BYTES } from '../limits.ts';
import { cutOff, type RawResponse } from './raw-response.ts';

type Headers = Readonly<Record<string, string>>;

/** As Kubernetes reads it: nothing is weighed. */
export const takesGzip = (accepted: string | undefined): boolean =>
  accepted?.split(',').some((each) => each.trim() === 'gzip') === true;

/** Watches and logs have no length: they are sent as they come. (A document that is made while it is sent says so by itself.) What a client keeps by its hash is the same for everybody. */
export const isCompressed = ({ 'content-length': length = '0', etag }: Headers): boolean =>
  Number(length) > COMPRESSED_OVER_BYTES && etag === undefined;

export function compressedHeaders({ 'content-length': _length, ...headers }: Headers): Headers {
  return { ...headers, 'content-encoding': 'gzip', vary: 'Accept-Encoding' };
}

/** What is written into it leaves by the response, compressed by other threads than this one, and no faster than the client takes it. */
export function compressInto(raw: RawResponse): Gzip {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  gzip.on('error', () => cutOff(raw));
  raw.once('close', () => gzip.destroy());
  gzip.pipe(raw);
  return gzip;
}
