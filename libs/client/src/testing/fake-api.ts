import type { KubeObject, Pod, ResourceRef } from '@holdfast/api';
import { conflict, deepFreeze, expired, MODIFIED_CONCURRENTLY, notFound, StatusError } from '@holdfast/machinery';
import type { Clock } from '@holdfast/platform';
import { compileSelection } from '../informer/selection.ts';
import type { ApiHandler, ApiRequest, ApiResponse, WatchEvent, WatchFrame } from '../transport/port.ts';
import { TransportError } from '../transport/port.ts';

export interface FakeChange {
  readonly path: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  readonly object: KubeObject;
  readonly previous: KubeObject | undefined;
}

/**
 * An API with the rules that clients rely on: compare-and-swap, one revision, watches with selection and bookmarks,
 * 410, binding by compare-and-swap, patches of conditions. It is a test model, not a server.
 */
export class FakeApi {
  readonly #clock: Clock;
  readonly #objects = new Map<string, KubeObject>();
  readonly #listeners = new Set<(change: FakeChange | undefined) => void>();
  #history: FakeChange[] = [];
  #compactedTo = 0;
  #revision = 0;
  /** While true, every request fails without a response and every watch breaks. */
  #down = false;
  bookmarkIntervalMs = 60_000;
  /** Watches opened while this is true never deliver anything. */
  halfOpen = false;
  readonly requests: ApiRequest[] = [];
  /** Runs before a request is served. A throw makes the request fail without an effect. */
  before: (request: ApiRequest) => Promise<void> | void = () => {};
  /** Runs after a request took effect. A throw loses its response. */
  after: (request: ApiRequest) => Promise<void> | void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get revision(): number {
    return this.#revision;
  }

  objects(): ReadonlyMap<string, KubeObject> {
    return this.#objects;
  }

  onChange(listener: (change: FakeChange) => void): void {
    this.#listeners.add((change) => {
      if (change !== undefined) listener(change);
    });
  }

  setDown(down: boolean): void {
    this.#down = down;
    if (down) for (const listener of this.#listeners) listener(undefined);
  }

  /** Drops the history: watches from the current revision or earlier get 410. */
  compact(): void {
    this.#history = [];
    this.#compactedTo = this.#revision;
  }

  put(path: string, object: KubeObject): KubeObject {
    const previous = this.#objects.get(path);
    const stored = this.#stamp({ ...object, metadata: { uid: `uid-${this.#revision + 1}`, ...object.metadata } });
    this.#objects.set(path, stored);
    this.#commit({ path, type: previous === undefined ? 'ADDED' : 'MODIFIED', object: stored, previous });
    return stored;
  }

  remove(path: string): void {
    const previous = this.#objects.get(path);
    if (previous === undefined) return;
    this.#objects.delete(path);
    this.#commit({ path, type: 'DELETED', object: this.#stamp(previous), previous });
  }

  readonly handler: ApiHandler = async (request) => {
    this.requests.push(request);
    if (this.#down) throw new TransportError('nobody answers');
    await this.before(request);
    try {
      const answer = this.#answer(request);
      await this.after(request);
      return answer;
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return json(error.code, error.body);
    }
  };

  #answer(request: ApiRequest): ApiResponse {
    if (request.method === 'GET' && request.query.get('watch') === 'true') return this.#watch(request);
    const body = typeof request.body === 'string' ? (JSON.parse(request.body) as KubeObject) : undefined;
    switch (request.method) {
      case 'GET':
        return parsePath(request.path).name === '' ? this.#list(request) : json(200, this.#existing(request.path));
      case 'POST': {
        if (body === undefined) throw new Error('a POST has a body');
        if (request.path.endsWith('/binding')) return json(201, this.#bind(request.path, body));
        const path = `${request.path}/${body.metadata.name}`;
        if (this.#objects.has(path)) throw conflict(subjectOf(path), 'it exists');
        return json(201, this.put(path, body));
      }
      case 'PUT':
      case 'PATCH':
        return json(200, this.#replace(request, body));
      case 'DELETE':
        this.#existing(request.path);
        this.remove(request.path);
        return json(200, { kind: 'Status', apiVersion: 'v1', status: 'Success' });
      case 'HEAD':
      case 'OPTIONS':
        throw new Error(`no ${request.method} here`);
    }
  }

  #bind(path: string, binding: KubeObject): KubeObject {
    const podPath = path.slice(0, -'/binding'.length);
    const pod = this.#existing(podPath) as Pod;
    const node = (binding as unknown as { target: { name: string } }).target.name;
    if (binding.metadata.uid !== undefined && binding.metadata.uid !== pod.metadata.uid) {
      throw conflict(subjectOf(podPath), 'the uid is another one');
    }
    if (pod.spec.nodeName !== undefined) {
      throw conflict(subjectOf(podPath), `pod ${pod.metadata.name} is already assigned to node "${pod.spec.nodeName}"`);
    }
    return this.put(podPath, { ...pod, spec: { ...pod.spec, nodeName: node } } as KubeObject);
  }

  /** Conditions merge by type, as in a strategic merge patch; everything else replaces. */
  #patch(path: string, body: KubeObject): KubeObject {
    const stored = this.#existing(path);
    const { status } = body as Partial<Pod>;
    if (status?.conditions === undefined) return this.put(path, { ...stored, ...body, metadata: stored.metadata });
    const before = (stored as Pod).status;
    const conditions = [...(before.conditions ?? [])].filter(
      (known) => !status.conditions?.some((changed) => changed.type === known.type),
    );
    const merged = { ...before, ...status, conditions: [...conditions, ...status.conditions] };
    return this.put(path, { ...stored, status: merged } as KubeObject);
  }

  #replace(request: ApiRequest, body: KubeObject | undefined): KubeObject {
    const path = request.path.replace(/\/status$/, '');
    const stored = this.#existing(path);
    if (body === undefined) throw new Error('a write has a body');
    if (request.method === 'PATCH') return this.#patch(path, body);
    if (body.metadata.resourceVersion !== stored.metadata.resourceVersion) {
      throw conflict(subjectOf(request.path), MODIFIED_CONCURRENTLY);
    }
    return this.put(path, body);
  }

  #existing(path: string): KubeObject {
    const object = this.#objects.get(path);
    if (object === undefined) throw notFound(subjectOf(path));
    return object;
  }

  #list(request: ApiRequest): ApiResponse {
    const selects = selectionOf(request);
    const items = [...this.#objects].filter(([path]) => isIn(request.path, path));
    return json(200, {
      kind: 'List',
      apiVersion: 'v1',
      metadata: { resourceVersion: String(this.#revision) },
      items: items.map(([, object]) => object).filter(selects),
    });
  }

  #watch(request: ApiRequest): ApiResponse {
    const from = Number(request.query.get('resourceVersion'));
    if (from < this.#compactedTo) throw expired(`too old resource version: ${from} (${this.#compactedTo})`);
    return { status: 200, headers: {}, body: { kind: 'watch', frames: this.#frames(request, from) } };
  }

  async *#frames(request: ApiRequest, from: number): AsyncGenerator<WatchFrame> {
    const selects = selectionOf(request);
    const { halfOpen } = this;
    const queue: (FakeChange | 'bookmark' | 'end')[] = this.#history.filter(
      (change) => change.revision > from && isIn(request.path, change.path),
    );
    let wake = (): void => {};
    const offer = (item: FakeChange | 'bookmark' | 'end'): void => {
      queue.push(item);
      wake();
    };
    const listener = (change: FakeChange | undefined): void => {
      if (change === undefined || isIn(request.path, change.path)) offer(change ?? 'end');
    };
    this.#listeners.add(listener);
    request.signal?.addEventListener('abort', () => offer('end'), { once: true });
    let timer = this.#clock.timer(this.bookmarkIntervalMs, () => offer('bookmark'));
    try {
      for (;;) {
        const item = queue.shift();
        if (item === 'end' || request.signal?.aborted === true) return;
        if (item === undefined) {
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          await promise;
        } else if (halfOpen) {
          continue;
        } else if (item === 'bookmark') {
          yield frame({ type: 'BOOKMARK', object: bookmark(this.#revision) });
          timer = this.#clock.timer(this.bookmarkIntervalMs, () => offer('bookmark'));
        } else {
          const event = viewOf(item, selects);
          if (event !== undefined) yield frame(event);
        }
      }
    } finally {
      timer.cancel();
      this.#listeners.delete(listener);
    }
  }

  #stamp(object: KubeObject): KubeObject {
    this.#revision++;
    return deepFreeze({ ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } });
  }

  #commit(change: Omit<FakeChange, 'revision'>): void {
    const committed = { ...change, revision: this.#revision };
    this.#history.push(committed);
    for (const listener of this.#listeners) listener(committed);
  }
}

export function pathFor(resource: ResourceRef, namespace: string, name: string): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const scope = resource.namespaced ? `/namespaces/${namespace}` : '';
  return `${root}${scope}/${resource.plural}/${name}`;
}

function viewOf(change: FakeChange, selects: (object: KubeObject) => boolean): WatchEvent | undefined {
  const before = change.previous !== undefined && selects(change.previous);
  if (change.type === 'DELETED') return before ? { type: 'DELETED', object: change.object } : undefined;
  if (selects(change.object)) return { type: before ? 'MODIFIED' : 'ADDED', object: change.object };
  return before ? { type: 'DELETED', object: change.object } : undefined;
}

function bookmark(revision: number): KubeObject {
  return { apiVersion: 'v1', kind: 'Bookmark', metadata: { resourceVersion: String(revision) } };
}

function frame(event: WatchEvent): WatchFrame {
  return { bytes: () => new TextEncoder().encode(`${JSON.stringify(event)}\n`), value: () => event };
}

function json(status: number, value: unknown): ApiResponse {
  const bytes = (): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
  return { status, headers: { 'content-type': 'application/json' }, body: { kind: 'json', bytes, value: () => value } };
}

function selectionOf(request: ApiRequest): (object: KubeObject) => boolean {
  const labelSelector = request.query.get('labelSelector');
  const fieldSelector = request.query.get('fieldSelector');
  return compileSelection({
    ...(labelSelector === null ? {} : { labelSelector }),
    ...(fieldSelector === null ? {} : { fieldSelector }),
  });
}

interface ParsedPath {
  /** Group, version and plural. */
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
}

function parsePath(path: string): ParsedPath {
  const match = /^(\/api\/[^/]+|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+)(?=\/[^/]))?\/([^/]+)(?:\/([^/]+))?/.exec(
    path,
  );
  if (match === null) throw new Error(`no API has the path ${path}`);
  const [, root = '', namespace, plural = '', name = ''] = match;
  return { kind: `${root}/${plural}`, namespace, name };
}

/** `/api/v1/pods` contains the pods of every namespace. */
function isIn(collection: string, path: string): boolean {
  const want = parsePath(collection);
  const have = parsePath(path);
  return want.kind === have.kind && (want.namespace === undefined || want.namespace === have.namespace);
}

function subjectOf(path: string): { group: string; resource: string; name: string } {
  const parts = path.split('/');
  return { group: '', resource: parts.at(-2) ?? '', name: parts.at(-1) ?? '' };
}
