import { type Clock, describeError } from '@holdfast/platform';
import { callUnary, GrpcFailure } from '@holdfast/platform/grpc';
import {
  KMS_ANNOTATIONS_BYTES_MAX,
  KMS_ANSWER_BYTES_MAX,
  KMS_CIPHERTEXT_BYTES_MAX,
  KMS_KEY_ID_BYTES_MAX,
} from '../../limits.ts';
import { encodeFields, WireFields } from './wire.ts';

export interface KmsSettings {
  readonly name: string;
  /** The path of the UNIX socket. */
  readonly socket: string;
  readonly timeoutMs: number;
}

/** A seed as the plugin encrypted it. */
export interface EncryptedSeed {
  readonly ciphertext: Buffer;
  readonly keyId: string;
  readonly annotations: ReadonlyMap<string, Buffer>;
}

/** There was no answer: no connection, or not within the timeout. */
export class KmsUnreachable extends Error {
  override readonly name: string = 'KmsUnreachable';
}

/** The plugin did not answer within the timeout. */
export class KmsTimeout extends KmsUnreachable {
  override readonly name = 'KmsTimeout';
}

/** One finished call. */
export interface KmsCallMeasure {
  /** Its full path. */
  readonly method: string;
  /** The name of the gRPC status. */
  readonly code: string;
  readonly seconds: number;
}

const SERVICE = '/v2.KeyManagementService';
const VERSIONS: ReadonlySet<string> = new Set(['v2', 'v2beta1']);

/** Calls of one KMS v2 plugin. Each has a deadline; wrong answers reject. */
export class KmsPlugin {
  readonly #settings: KmsSettings;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  #onCall: (measure: KmsCallMeasure) => void = () => {};

  constructor(settings: KmsSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Resolves with the id of the present key. */
  async healthyKeyId(): Promise<string> {
    return this.#call('Status', Buffer.alloc(0), (answer) => {
      const [version, healthz, keyId] = [answer.text(1), answer.text(2), answer.text(3)];
      if (!VERSIONS.has(version)) throw new Error(`its version is ${JSON.stringify(shortened(version))}, not "v2"`);
      if (healthz !== 'ok') throw new Error(`its healthz is ${JSON.stringify(shortened(healthz))}, not "ok"`);
      refuseKeyId(answer.bytes(3));
      return keyId;
    });
  }

  async encrypt(plaintext: Buffer, uid: string): Promise<EncryptedSeed> {
    const request = encodeFields([
      [1, plaintext],
      [2, uid],
    ]);
    return this.#call('Encrypt', request, (answer) => {
      const seed = { ciphertext: Buffer.from(answer.bytes(1)), keyId: answer.text(2), annotations: answer.map(3) };
      refuseKeyId(answer.bytes(2));
      refuseCiphertext(seed.ciphertext);
      refuseAnnotations(seed.annotations);
      return seed;
    });
  }

  async decrypt({ ciphertext, keyId, annotations }: EncryptedSeed, uid: string): Promise<Buffer> {
    const request = encodeFields([
      [1, ciphertext],
      [2, uid],
      [3, keyId],
      [4, annotations],
    ]);
    return this.#call('Decrypt', request, (answer) => Buffer.from(answer.bytes(1)));
  }

  /** Calls `listener` after each call. */
  onCall(listener: (measure: KmsCallMeasure) => void): void {
    this.#onCall = listener;
  }

  /** Ends all calls. */
  close(): void {
    this.#closed.abort(new Error('the server stops'));
  }

  async #call<T>(method: string, message: Buffer, read: (answer: WireFields) => T): Promise<T> {
    const answer = await this.#exchange(method, message);
    try {
      return read(new WireFields(answer));
    } catch (error) {
      throw new Error(this.#sentence(method, error));
    }
  }

  async #exchange(method: string, message: Buffer): Promise<Buffer> {
    const { socket, timeoutMs } = this.#settings;
    const path = `${SERVICE}/${method}`;
    const begunMs = this.#clock.monotonic();
    const deadline = new AbortController();
    const timer = this.#clock.timer(timeoutMs, () => deadline.abort());
    let code = 'OK';
    try {
      return await callUnary({
        to: { socket },
        path,
        message,
        userAgent: 'kube-apiserver/1.32',
        answerBytesMax: KMS_ANSWER_BYTES_MAX,
        signal: AbortSignal.any([deadline.signal, this.#closed.signal]),
      });
    } catch (error) {
      code = deadline.signal.aborted ? 'DeadlineExceeded' : statusName(error);
      if (deadline.signal.aborted) {
        throw new KmsTimeout(`${method}: ${socket} did not answer within ${timeoutMs / 1000} s`);
      }
      const sentence = this.#sentence(method, error);
      throw error instanceof GrpcFailure ? new Error(sentence) : new KmsUnreachable(sentence);
    } finally {
      timer.cancel();
      this.#onCall({ method: path, code, seconds: (this.#clock.monotonic() - begunMs) / 1000 });
    }
  }

  /** The text comes from another process, so it is bounded. */
  #sentence(method: string, error: unknown): string {
    const code = error instanceof GrpcFailure ? ` failed with grpc status ${error.code}` : '';
    return `${method} at ${this.#settings.socket}${code}: ${shortened(describeError(error))}`;
  }
}

/** The names of gRPC, by number. */
const STATUS_NAMES: readonly string[] = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
];

/** A bounded set of names: the code comes from another process. */
const statusName = (error: unknown): string =>
  error instanceof GrpcFailure ? (STATUS_NAMES[error.code] ?? 'Unknown') : 'Unavailable';

const SHOWN_CHARS = 500;

const shortened = (text: string): string => (text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text);

function refuseKeyId({ length }: Buffer): void {
  if (length === 0) throw new Error('its answer has no key_id');
  if (length > KMS_KEY_ID_BYTES_MAX) {
    throw new Error(`its key_id has ${length} bytes; ${KMS_KEY_ID_BYTES_MAX} are allowed`);
  }
}

function refuseCiphertext({ length }: Buffer): void {
  if (length === 0) throw new Error('its answer has no ciphertext');
  if (length > KMS_CIPHERTEXT_BYTES_MAX) {
    throw new Error(`its ciphertext has ${length} bytes; ${KMS_CIPHERTEXT_BYTES_MAX} are allowed`);
  }
}

const DOMAIN_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/;
const DOMAIN_NAME_CHARS_MAX = 253;

function refuseAnnotations(annotations: ReadonlyMap<string, Buffer>): void {
  let size = 0;
  for (const [key, value] of annotations) {
    size += Buffer.byteLength(key) + value.length;
    if (key.length > DOMAIN_NAME_CHARS_MAX || !DOMAIN_NAME.test(key)) {
      throw new Error(`its annotation ${JSON.stringify(shortened(key))} is not named by a full domain name`);
    }
  }
  if (size > KMS_ANNOTATIONS_BYTES_MAX) {
    throw new Error(`its annotations have ${size} bytes; ${KMS_ANNOTATIONS_BYTES_MAX} are allowed`);
  }
}
