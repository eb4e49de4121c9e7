import type { ApiRequest, ApiResponse, HttpMethod, WatchEvent } from '@holdfast/client';
import { parseExactJson } from '@holdfast/machinery';
import {
  type Clock,
  createIds,
  createSeededRandom,
  createSilentLog,
  createSystemClock,
  nextTurn,
} from '@holdfast/platform';
import type { Store } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { type ApiServer, type ApiServerDeps, createApiServer } from '../app.ts';
import type { User } from '../authentication/identity.ts';

/** Tokens are the names of the users. */
const USERS: Readonly<Record<string, User>> = {
  admin: { name: 'admin', uid: 'admin', groups: ['system:masters'] },
  nobody: { name: 'nobody', groups: [] },
  scheduler: { name: 'system:kube-scheduler', groups: [] },
  manager: { name: 'system:kube-controller-manager', groups: [] },
  'pod-gc': { name: 'system:serviceaccount:kube-system:pod-garbage-collector', groups: [] },
  fencer: { name: 'system:holdfast:fencer', groups: [] },
  'node-a': { name: 'system:node:a', groups: ['system:nodes'] },
  'node-b': { name: 'system:node:b', groups: ['system:nodes'] },
};

export interface Call {
  readonly as?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** The value at a dotted path of the body: `spec.containers.0.image`. */
  at(path: string): unknown;
  /** The same as text; '' for anything else. */
  textAt(path: string): string;
  /** Names of the items of a list. */
  names(): readonly string[];
  readonly raw: ApiResponse;
}

export interface TestApi {
  readonly server: ApiServer;
  readonly store: Store;
  call(method: HttpMethod, url: string, call?: Call): Promise<Answer>;
  /** Takes `count` frames of a watch and ends it. */
  watch(url: string, count: number, call?: Call): Promise<readonly WatchEvent[]>;
  stop(): Promise<void>;
}

type Overrides = Partial<ApiServerDeps> & { readonly clock?: Clock };

export async function startTestApi(overrides: Overrides = {}): Promise<TestApi> {
  const api = createTestApi(overrides);
  await api.server.start();
  return api;
}

/** Nobody has started it yet. */
export function createTestApi(overrides: Overrides = {}): TestApi {
  const store = overrides.store ?? createMemoryStore();
  const server = createApiServer({
    clock: createTestClock(),
    ids: createIds(createSeededRandom(1, 'ids')),
    log: createSilentLog(),
    tokens: new Map(Object.entries(USERS)),
    ...overrides,
    store,
  });
  const openings = new Set<Promise<ApiResponse>>();
  const send = async (method: HttpMethod, url: string, call: Call = {}): Promise<Answer> => {
    if (!IS_WATCH.test(url)) {
      await areOpen(openings);
      return readAnswer(await server.handle(requestOf(method, url, call)));
    }
    const opening = server.handle(requestOf(method, url, call));
    openings.add(opening);
    try {
      return readAnswer(await opening);
    } finally {
      openings.delete(opening);
    }
  };
  return {
    server,
    store,
    call: send,
    watch: async (url, count, call = {}) => {
      const abort = new AbortController();
      const answer = await send('GET', url, { ...call, signal: abort.signal });
      const events: WatchEvent[] = [];
      if (answer.raw.body.kind !== 'watch') throw new Error(`no watch: ${JSON.stringify(answer.body)}`);
      for await (const frame of answer.raw.body.frames) {
        events.push(frame.value());
        if (events.length === count) break;
      }
      abort.abort();
      return events;
    },
    stop: async () => {
      await server.stop();
      await store.close();
    },
  };
}

const IS_WATCH = /[?&]watch=/;

/** A watch that has begun is open before the next request: on a busy machine it waits for a turn. One that waits for a revision waits for longer. */
async function areOpen(openings: ReadonlySet<unknown>): Promise<void> {
  for (let turn = 0; openings.size > 0 && turn < OPENING_TURNS; turn++) await nextTurn();
}

const OPENING_TURNS = 50;

/** A test is over long before a long timer would fire; without it, a test that fails does not keep its process alive. */
function createTestClock(): Clock {
  const system = createSystemClock();
  const timer: Clock['timer'] = (delayMs, fire) =>
    delayMs < LONG_TIMER_MS ? system.timer(delayMs, fire) : { cancel: () => {} };
  return { ...system, timer };
}

const LONG_TIMER_MS = 10_000;

export function requestOf(method: HttpMethod, url: string, call: Call): ApiRequest {
  const [path = '', query = ''] = url.split('?');
  const as = call.as ?? 'admin';
  const body = typeof call.body === 'string' || call.body === undefined ? call.body : JSON.stringify(call.body);
  return {
    method,
    path,
    query: new URLSearchParams(query),
    headers: {
      ...(as === 'anonymous' ? {} : { authorization: `Bearer ${as}` }),
      ...(body === undefined
        ? {}
        : { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }),
      ...call.headers,
    },
    ...(body === undefined ? {} : { body }),
    ...(call.signal === undefined ? {} : { signal: call.signal }),
  };
}

export function readAnswer(raw: ApiResponse): Answer {
  const { status, headers } = raw;
  const body = bodyOf(raw);
  const at = (path: string): unknown => valueAt(body, path);
  const textAt = (path: string): string => {
    const value = at(path);
    return typeof value === 'string' ? value : '';
  };
  const names = (): readonly string[] => {
    const items = at('items');
    return Array.isArray(items) ? items.map((item) => String(valueAt(item, 'metadata.name'))) : [];
  };
  return { status, headers, body, raw, at, textAt, names };
}

export function valueAt(document: unknown, path: string): unknown {
  let value = document;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

function bodyOf({ body }: ApiResponse): unknown {
  if (body.kind === 'json') return parseExactJson(new TextDecoder().decode(body.bytes()));
  return body.kind === 'text' ? body.text : undefined;
}

export const podBody = (name: string, extra: Readonly<Record<string, unknown>> = {}): unknown => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...(extra['metadata'] as object | undefined) },
  spec: { containers: [{ name: 'c', image: 'busybox:1.36' }], ...(extra['spec'] as object | undefined) },
});

export const configMapBody = (name: string, data: Readonly<Record<string, string>> = {}): unknown => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});
