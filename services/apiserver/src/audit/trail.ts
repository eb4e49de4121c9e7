import type { ApiRequest, ApiResponse, ResponseBody } from '@holdfast/client';
import { isJsonObject, type Json, type JsonObject, parseExactJson } from '@holdfast/machinery';
import { describeError } from '@holdfast/platform';
import type { User } from '../authentication/identity.ts';
import { mediaTypeOf, readYamlText, yamlFormat } from '../http/body.ts';
import { withJsonBody } from '../http/protobuf-body.ts';
import type { RequestInfo } from '../http/request-info.ts';
import { AUDIT_ANNOTATION_CHARACTERS_MAX, AUDIT_EVENT_OBJECT_BYTES_MAX, LONG_YAML_BYTES } from '../limits.ts';
import {
  type AuditEvent,
  eventText,
  type JsonText,
  objectRefOf,
  type ResponseStatus,
  TRUNCATED,
  withMetadata,
} from './event.ts';
import { type AuditNotes, DECISION, reaches } from './notes.ts';
import type { AuditDecision, AuditStage } from './policy.ts';

export interface TrailDeps {
  readonly auditId: string;
  readonly now: () => number;
  readonly receivedAt: number;
  readonly decision: AuditDecision;
  readonly emit: (event: string) => Promise<boolean> | boolean | undefined;
}

const LONG_SUBRESOURCES: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

/** Collects the data of one audited request, and writes one event for each stage in its policy. */
export class AuditTrail implements AuditNotes {
  readonly #request: ApiRequest;
  readonly #info: RequestInfo;
  readonly #user: User | undefined;
  readonly #deps: TrailDeps;
  readonly #annotations = new Map<string, string>();
  #impersonated: User | undefined;
  #fault: unknown;

  constructor(request: ApiRequest, info: RequestInfo, user: User | undefined, deps: TrailDeps) {
    this.#request = request;
    this.#info = info;
    this.#user = user;
    this.#deps = deps;
  }

  get level(): AuditNotes['level'] {
    return this.#deps.decision.level;
  }

  readonly annotate = (key: string, value: string): void => {
    this.#annotations.set(key, value.slice(0, AUDIT_ANNOTATION_CHARACTERS_MAX));
  };

  readonly actsAs = (user: User): void => {
    this.#impersonated = user;
  };

  readonly failed = (fault: unknown): void => {
    this.#fault = fault;
  };

  /** False: the event was lost, and the request must not pass without it. */
  received(): Promise<boolean> | boolean | undefined {
    return this.#emit('RequestReceived', {});
  }

  /** Authentication failed: one event, as in Kubernetes. */
  unauthenticated(response: ApiResponse): Promise<boolean> | boolean | undefined {
    const status = { status: 'Failure', message: failedMethods(this.#request), code: response.status };
    return this.#emit('ResponseStarted', { status });
  }

  /** Returns the same response and records its end, also for a stream. */
  async answered(response: ApiResponse): Promise<ApiResponse> {
    const said = await this.#saidWith(response);
    const { body, upgrade } = response;
    if (isLong(this.#info)) await this.#emit('ResponseStarted', said);
    const end = (): void => void this.#end(said);
    if (upgrade !== undefined) {
      const joined: typeof upgrade = (socket, head) => {
        socket.once('close', end);
        upgrade(socket, head);
      };
      return { ...response, upgrade: joined };
    }
    if (body.kind === 'watch') return { ...response, body: { kind: 'watch', frames: withEnd(body.frames, end) } };
    if (body.kind === 'stream') return { ...response, body: { kind: 'stream', chunks: withEnd(body.chunks, end) } };
    await this.#end(said);
    return response;
  }

  #end(said: Partial<AuditEvent>): Promise<boolean> | boolean | undefined {
    if (this.#fault === undefined) return this.#emit('ResponseComplete', said);
    const message = `APIServer panic'd: ${describeError(this.#fault)}`;
    return this.#emit('Panic', { ...said, status: { status: 'Failure', message, reason: 'InternalError', code: 500 } });
  }

  async #saidWith(response: ApiResponse): Promise<Partial<AuditEvent>> {
    const { level } = this;
    const isAllowed = this.#annotations.get(DECISION) === 'allow';
    const sent = isAllowed ? await sentObject(this.#request) : undefined;
    const objectRef = objectRefOf(this.#info);
    const metadata = this.#info.verb === 'create' || this.#info.verb === 'update' ? metadataOf(sent?.value) : undefined;
    const answered = reaches(level, 'RequestResponse') ? this.#answeredObject(response) : {};
    return {
      objectRef: objectRef === undefined || metadata === undefined ? objectRef : withMetadata(objectRef, metadata),
      status: statusOf(response, this.#info),
      ...(sent !== undefined && reaches(level, 'Request') ? { sent: this.#withoutOwners(sent) } : {}),
      ...answered,
    };
  }

  #answeredObject({ body, headers }: ApiResponse): { readonly answered?: JsonText } {
    if (this.#info.kind === 'path' || body.kind !== 'json' || isTooLong(body)) return this.#cutShort(body);
    const isText = headers['content-type']?.includes('json') === true;
    if (!isText || this.#deps.decision.omitManagedFields) {
      return {
        answered: JSON.stringify(this.#deps.decision.omitManagedFields ? withoutOwners(body.value()) : body.value()),
      };
    }
    return { answered: Buffer.from(body.bytes()).toString('utf8').trimEnd() };
  }

  #cutShort(body: ResponseBody): { readonly answered?: JsonText } {
    if (body.kind === 'json' && isTooLong(body)) this.annotate(TRUNCATED, 'true');
    return {};
  }

  #withoutOwners({ text, value }: SentObject): JsonText {
    return this.#deps.decision.omitManagedFields ? JSON.stringify(withoutOwners(value)) : text;
  }

  #emit(stage: AuditStage, said: Partial<AuditEvent>): Promise<boolean> | boolean | undefined {
    const { auditId, decision, emit, now, receivedAt } = this.#deps;
    if (decision.omitStages.has(stage)) return undefined;
    return emit(
      eventText({
        level: this.level,
        auditId,
        stage,
        request: this.#request,
        verb: this.#info.verb,
        user: this.#user,
        impersonated: this.#impersonated,
        objectRef: objectRefOf(this.#info),
        status: undefined,
        sent: undefined,
        answered: undefined,
        receivedAt,
        at: now(),
        annotations: this.#annotations,
        ...said,
      }),
    );
  }
}

/** True for long responses, whose start is recorded, too. */
const isLong = (info: RequestInfo): boolean =>
  info.kind === 'resource' && (info.verb === 'watch' || LONG_SUBRESOURCES.has(info.subresource));

interface SentObject {
  readonly text: JsonText;
  readonly value: Json;
}

/** Returns the request body as JSON; nothing when it is unreadable, which the response reports. */
async function sentObject(request: ApiRequest): Promise<SentObject | undefined> {
  if (request.body === undefined || request.body.length === 0) return undefined;
  try {
    const { body = '' } = await withJsonBody(request);
    const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
    if (mediaTypeOf(request).includes('yaml')) {
      const format = yamlFormat(request);
      // It was not parsed on a separate thread, and parsing it here would block all requests.
      if (format === 'yaml' && text.length > LONG_YAML_BYTES) return undefined;
      const { value } = readYamlText(text, format);
      return { text: JSON.stringify(value), value };
    }
    const value = parseExactJson(text);
    // One event is one line, also for readers that treat a carriage return as its end.
    return { text: /[\r\n]/.test(text) ? JSON.stringify(value) : text, value };
  } catch {
    return undefined;
  }
}

function metadataOf(value: Json | undefined): JsonObject | undefined {
  const metadata = isJsonObject(value) ? value['metadata'] : undefined;
  return isJsonObject(metadata) ? metadata : undefined;
}

const isTooLong = (body: ResponseBody): boolean =>
  body.kind === 'json' && (body.pieces?.().length ?? body.bytes().length) > AUDIT_EVENT_OBJECT_BYTES_MAX;

/** A Status in the response is recorded at every level; of other responses only the code. */
function statusOf({ status: code, body }: ApiResponse, { verb }: RequestInfo): ResponseStatus {
  if (body.kind !== 'json' || (code < 400 && !verb.startsWith('delete'))) return { code };
  const value = body.value();
  if (typeof value !== 'object' || value === null || Reflect.get(value, 'kind') !== 'Status') return { code };
  const told = ['status', 'message', 'reason', 'details'].flatMap((field) => {
    const said: unknown = Reflect.get(value, field);
    return said === undefined || said === '' ? [] : [[field, said] as const];
  });
  return { ...Object.fromEntries(told), code };
}

/** A copy without `metadata.managedFields`, also of the items of a list. */
function withoutOwners(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const metadata: unknown = Reflect.get(value, 'metadata');
  const items: unknown = Reflect.get(value, 'items');
  return {
    ...value,
    ...(typeof metadata === 'object' && metadata !== null
      ? { metadata: { ...metadata, managedFields: undefined } }
      : {}),
    ...(Array.isArray(items) ? { items: items.map(withoutOwners) } : {}),
  };
}

/** Returns the attempted authentication methods, in the words of Kubernetes. */
function failedMethods({ headers, connection }: ApiRequest): string {
  const scheme = (headers['authorization'] ?? '').trim().split(' ')[0]?.toLowerCase();
  const methods = [
    ...(scheme === 'basic' || scheme === 'bearer' ? [scheme] : []),
    ...(connection?.clientCertificate === undefined ? [] : ['x509']),
  ];
  return methods.length === 0
    ? 'Authentication failed, no credentials provided'
    : `Authentication failed, attempted: ${methods.join(', ')}`;
}

/** Passes items through; calls `end` once when the consumer stops. */
function withEnd<T>(items: AsyncIterable<T>, end: () => void): AsyncIterable<T> {
  let isEnded = false;
  const ended = (): void => {
    if (!isEnded) end();
    isEnded = true;
  };
  return {
    [Symbol.asyncIterator]: () => {
      const inner = items[Symbol.asyncIterator]();
      return {
        next: async () => {
          try {
            const result = await inner.next();
            if (result.done === true) ended();
            return result;
          } catch (error) {
            ended();
            throw error;
          }
        },
        return: async () => {
          ended();
          return (await inner.return?.()) ?? { done: true, value: undefined };
        },
      };
    },
  };
}
