import type { Readable } from 'node:stream';
import { badRequest, StatusError } from '@holdfast/machinery/status';
import type { Clock } from '@holdfast/platform/clock';
import { InFlight } from '@holdfast/platform/in-flight';
import { bodyTooLarge } from '../http/refusals.ts';

export interface BodyLimits {
  readonly bodyBytesMax: number;
  /** All bodies together, from their first byte until their request is answered. */
  readonly bodyBytesInFlightMax: number;
  readonly receiveTimeoutMs: number;
}

export interface BodyReceiver {
  /** Rejects with the `StatusError` for the client: 400, 408, 413 or 429. */
  receive(payload: Readable, declaredLength: string | undefined): Promise<Buffer>;
  /** A request with this body was answered. */
  release(body: Uint8Array): void;
  /** Bytes held now. */
  held(): number;
}

/** A body that is not complete. */
interface Arriving {
  bytes: number;
  readonly refuse: (error: StatusError) => void;
}

/**
 * Takes request bodies within bounds of size, time and memory. The largest that is not complete makes room for the others: few who send
 * much, and slowly, would else keep out everybody who renews a lease.
 */
export function createBodyReceiver(clock: Clock, limits: BodyLimits): BodyReceiver {
  const arriving = new InFlight<Arriving>();
  let held = 0;
  const receive = (payload: Readable, declaredLength: string | undefined): Promise<Buffer> => {
    if (Number(declaredLength) > limits.bodyBytesMax) return Promise.reject(bodyTooLarge());
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const chunks: Buffer[] = [];
    const refuse = (error: StatusError): void => {
      finish();
      // Whatever still comes is thrown away until the answer has ended the request.
      payload.resume();
      held -= body.bytes;
      reject(error);
    };
    const body: Arriving = { bytes: 0, refuse };
    const number = arriving.add(body);
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      body.bytes += chunk.length;
      held += chunk.length;
      if (body.bytes > limits.bodyBytesMax) refuse(bodyTooLarge());
      else if (held > limits.bodyBytesInFlightMax) largestOf(arriving.entries())?.refuse(tooManyBodies());
    };
    const onEnd = (): void => {
      finish();
      resolve(chunks[0]?.length === body.bytes ? chunks[0] : Buffer.concat(chunks, body.bytes));
    };
    const onClose = (): void => refuse(badRequest('the request ended before its body was complete'));
    const timer = clock.timer(limits.receiveTimeoutMs, () => refuse(receivedTooSlowly()));
    const finish = (): void => {
      arriving.delete(number);
      timer.cancel();
      payload.off('data', onData).off('end', onEnd).off('close', onClose);
    };
    payload.on('data', onData).once('end', onEnd).once('close', onClose);
    // 'close' follows. The request may also break after its body was refused or received.
    payload.on('error', NOTHING_TO_DO);
    return promise;
  };
  return {
    receive,
    release: (body) => {
      held -= body.byteLength;
    },
    held: () => held,
  };
}

/** The first of the largest ones. */
function largestOf(arriving: Iterable<readonly [number, Arriving]>): Arriving | undefined {
  let first = Number.POSITIVE_INFINITY;
  let largest: Arriving | undefined;
  for (const [number, each] of arriving) {
    const isLarger = largest === undefined || each.bytes > largest.bytes;
    if (isLarger || (each.bytes === largest?.bytes && number < first)) [first, largest] = [number, each];
  }
  return largest;
}

const NOTHING_TO_DO = (): void => {};

const receivedTooSlowly = (): StatusError =>
  new StatusError({
    code: 408,
    reason: 'Timeout',
    message: 'Timeout: the body of the request did not arrive in time',
  });

const tooManyBodies = (): StatusError =>
  new StatusError({
    code: 429,
    reason: 'TooManyRequests',
    message: 'too many large requests are being received; try again later',
    details: { retryAfterSeconds: 1 },
  });
