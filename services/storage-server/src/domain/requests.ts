import { LINE_BYTES_MAX, PAYLOAD_BYTES_MAX, VOLUME_NAME_CHARS_MAX } from '../limits.ts';

export type Request =
  | { readonly kind: 'open'; readonly volume: string; readonly token: number; readonly proof: string }
  | { readonly kind: 'read'; readonly offset: number; readonly length: number }
  | { readonly kind: 'write'; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'flush' }
  | { readonly kind: 'stat' };

/** After it the position in the stream is not known: the connection is closed. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest';
}

const NEW_LINE = 0x0a;
/** As names of PersistentVolumes: no path separators, no `..`. */
const VOLUME_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const NUMBER = /^(0|[1-9]\d{0,15})$/;
const PROOF = /^[0-9a-f]{64}$/;

/** Reads requests from the bytes of a connection. Holds at most one line and one payload beside the last chunk. */
export class RequestReader {
  #chunks: Buffer[] = [];
  #size = 0;
  #write: { readonly offset: number; readonly length: number } | undefined;
  #isOpen = false;

  /** Before, only `open` is read: strangers cannot fill the memory. */
  opened(): void {
    this.#isOpen = true;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
  }

  /** Returns the next request when it is complete. Throws `BadRequest`. */
  next(): Request | undefined {
    if (this.#write === undefined) {
      const line = this.#line();
      if (line === undefined) return undefined;
      const request = parse(line);
      if (!this.#isOpen && request.kind !== 'open') throw new BadRequest('the first request opens a volume');
      if (request.kind !== 'payload') return request;
      this.#write = request;
    }
    const { offset, length } = this.#write;
    if (this.#size < length) return undefined;
    this.#write = undefined;
    return { kind: 'write', offset, bytes: this.#cut(length, 0) };
  }

  #line(): string | undefined {
    const end = this.#whole().subarray(0, LINE_BYTES_MAX).indexOf(NEW_LINE);
    if (end !== -1) return this.#cut(end, 1).toString('latin1');
    if (this.#size < LINE_BYTES_MAX) return undefined;
    throw new BadRequest(`a request line is longer than ${LINE_BYTES_MAX} bytes`);
  }

  #cut(length: number, skipped: number): Buffer {
    const whole = this.#whole();
    const rest = whole.subarray(length + skipped);
    this.#chunks = [rest];
    this.#size = rest.length;
    return whole.subarray(0, length);
  }

  /** Joined only when a line or a payload may be complete: many small chunks cost no copies of what waits. */
  #whole(): Buffer {
    const whole = this.#chunks.length === 1 ? this.#chunks[0] : undefined;
    if (whole !== undefined) return whole;
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }
}

type Line =
  | Exclude<Request, { kind: 'write' }>
  | { readonly kind: 'payload'; readonly offset: number; readonly length: number };

function parse(line: string): Line {
  const [verb = '', ...words] = line.split(' ');
  const [first = '', second = '', third = ''] = words;
  switch (`${verb} ${words.length}`) {
    case 'open 3':
      return { kind: 'open', volume: volumeName(first), token: number(second, 'token'), proof: proofOf(third) };
    case 'read 2':
      return { kind: 'read', offset: number(first, 'offset'), length: lengthOf(second) };
    case 'write 2':
      return { kind: 'payload', offset: number(first, 'offset'), length: lengthOf(second) };
    case 'flush 0':
      return { kind: 'flush' };
    case 'stat 0':
      return { kind: 'stat' };
    default:
      throw new BadRequest(
        'the request is none of: open VOLUME TOKEN PROOF, read OFFSET LENGTH, write OFFSET LENGTH, flush, stat',
      );
  }
}

function volumeName(text: string): string {
  if (text.length <= VOLUME_NAME_CHARS_MAX && VOLUME_NAME.test(text)) return text;
  throw new BadRequest('the volume is not a name of a PersistentVolume');
}

function number(text: string, what: string): number {
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  throw new BadRequest(`the ${what} is not a number from 0 to ${Number.MAX_SAFE_INTEGER}`);
}

function lengthOf(text: string): number {
  const length = number(text, 'length');
  if (length <= PAYLOAD_BYTES_MAX) return length;
  throw new BadRequest(`the length is more than ${PAYLOAD_BYTES_MAX} bytes`);
}

function proofOf(text: string): string {
  if (PROOF.test(text)) return text;
  throw new BadRequest('the proof is not 64 hexadecimal digits');
}
