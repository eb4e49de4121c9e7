import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { TLSSocket } from 'node:tls';

/** Only modules of Node: a test may run this text as a pod. */

export const GROUP = 'wardle.example.com';
export const VERSION = 'v1alpha1';
export const ROOT = `/apis/${GROUP}/${VERSION}`;

export interface ExtensionOptions {
  readonly certificate: string;
  readonly key: string;
  /** PEM of the front proxies' authority. Absent: no client certificate is requested. */
  readonly clientCa?: string;
}

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  /** The common name of a certificate that the authority has signed; '' without one. */
  readonly frontProxy: string;
}

export interface Flunder {
  readonly apiVersion: string;
  readonly kind: 'Flunder';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly resourceVersion: string;
    readonly uid: string;
    readonly labels?: Record<string, string>;
  };
  readonly spec?: unknown;
}

/** A small API server of its own, as people put behind the aggregator. */
export interface ExtensionServer {
  readonly server: Server;
  readonly seen: SeenRequest[];
  /** Answers in place of the server; false leaves the request to it. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** True: it has one discovery document for all groups. */
  hasAggregatedDiscovery: boolean;
  readonly objects: Map<string, Flunder>;
  readonly history: Change[];
}

interface Change {
  readonly type: string;
  readonly object: Flunder;
}

type Watcher = (type: string, object: Flunder) => void;

const RESOURCE = {
  name: 'flunders',
  singularName: 'flunder',
  namespaced: true,
  kind: 'Flunder',
  verbs: ['create', 'delete', 'get', 'list', 'watch'],
  shortNames: ['fl'],
};

const DISCOVERY = {
  kind: 'APIGroupDiscoveryList',
  apiVersion: 'apidiscovery.k8s.io/v2',
  metadata: {},
  items: [
    {
      metadata: { name: GROUP },
      versions: [
        {
          version: VERSION,
          resources: [
            {
              resource: 'flunders',
              responseKind: { group: GROUP, version: VERSION, kind: 'Flunder' },
              scope: 'Namespaced',
              singularResource: 'flunder',
              verbs: RESOURCE.verbs,
              shortNames: RESOURCE.shortNames,
            },
          ],
          freshness: 'Current',
        },
      ],
    },
  ],
};

const FLUNDER_TYPE = 'com.example.wardle.v1alpha1.Flunder';
const META_TYPE = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const GVK = [{ group: GROUP, version: VERSION, kind: 'Flunder' }];
const schemaOf = (prefix: string): object => ({
  [FLUNDER_TYPE]: {
    type: 'object',
    description: 'A flounder',
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { $ref: `${prefix}${META_TYPE}` },
      spec: { type: 'object', description: 'What the flounder should be' },
    },
    'x-kubernetes-group-version-kind': GVK,
  },
  [META_TYPE]: {
    type: 'object',
    description: 'of another version',
    properties: {
      name: { type: 'string' },
      namespace: { type: 'string' },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
    },
  },
});
const answersOf = (schema: object): object => ({ '200': { description: 'OK', ...schema } });

const OPENAPI_2 = {
  swagger: '2.0',
  info: { title: 'sample', version: '1' },
  paths: {
    [`${ROOT}/namespaces/{namespace}/flunders`]: {
      get: { operationId: 'listFlunders', responses: answersOf({ schema: { $ref: `#/definitions/${FLUNDER_TYPE}` } }) },
    },
    '/api/v1/namespaces': { get: { operationId: 'stolen', responses: answersOf({}) } },
  },
  definitions: schemaOf('#/definitions/'),
};

const OPENAPI_3 = {
  openapi: '3.0.0',
  info: { title: 'sample', version: '1' },
  paths: {
    [`${ROOT}/namespaces/{namespace}/flunders`]: {
      get: { operationId: 'listFlunders', responses: answersOf({}), 'x-kubernetes-group-version-kind': GVK[0] },
    },
  },
  components: { schemas: schemaOf('#/components/schemas/') },
};

export function createExtensionServer({ certificate, key, clientCa }: ExtensionOptions): ExtensionServer {
  const seen: SeenRequest[] = [];
  const objects = new Map<string, Flunder>();
  const watchers = new Set<Watcher>();
  const asked = clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: false };
  const server = createServer({ cert: certificate, key, ...asked }, (request, response) => {
    seen.push(seenOf(request));
    if (extension.intercept(request, response)) return;
    void textOf(request).then((body) => serve(extension, { request, response, body, watchers }));
  });
  server.on('upgrade', (request: IncomingMessage, socket) => {
    seen.push(seenOf(request));
    socket.on('error', () => socket.destroy());
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
    socket.pipe(socket);
  });
  const extension: ExtensionServer = {
    server,
    seen,
    objects,
    history: [],
    intercept: () => false,
    hasAggregatedDiscovery: false,
  };
  return extension;
}

function seenOf(request: IncomingMessage): SeenRequest {
  const { method = '', url = '', headers, rawHeaders, socket } = request;
  const tls = socket as TLSSocket;
  const frontProxy = tls.authorized ? String(tls.getPeerCertificate().subject.CN) : '';
  return { method, url, headers, rawHeaders, frontProxy };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: string;
  readonly watchers: Set<Watcher>;
}

function serve(extension: ExtensionServer, { request, response, body, watchers }: Exchange): void {
  const { method = '', url = '', headers } = request;
  const { pathname, searchParams } = new URL(url, 'https://x');
  const accept = headers.accept ?? '';
  const send = (status: number, value: object, type = 'application/json'): void => {
    const text = JSON.stringify(value);
    const etag = `"${text.length}"`;
    if (headers['if-none-match'] === etag) return void response.writeHead(304, { etag }).end();
    response.writeHead(status, { 'content-type': type, etag }).end(text);
  };
  const missing = (details = {}): void =>
    send(404, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404, details });
  if (pathname === '/apis') {
    if (!extension.hasAggregatedDiscovery || !accept.includes('APIGroupDiscoveryList')) {
      return send(200, { kind: 'APIGroupList', apiVersion: 'v1', groups: [] });
    }
    return send(200, DISCOVERY, 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList');
  }
  if (pathname === ROOT) {
    return send(200, {
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: `${GROUP}/${VERSION}`,
      resources: [RESOURCE],
    });
  }
  if (pathname === '/openapi/v2') return send(200, OPENAPI_2);
  if (pathname === '/openapi/v3') {
    return send(200, { paths: { [ROOT.slice(1)]: { serverRelativeURL: `/openapi/v3${ROOT}?hash=1` } } });
  }
  if (pathname === `/openapi/v3${ROOT}`) return send(200, OPENAPI_3);
  if (pathname === `${ROOT}/flunders`) {
    if (searchParams.get('watch') === 'true') return watch(extension, { response, watchers, searchParams });
    return send(200, listOf(extension, [...extension.objects.values()]));
  }
  const [, namespace, name] = /\/namespaces\/([^/]+)\/flunders(?:\/([^/]+))?$/.exec(pathname) ?? [];
  if (namespace === undefined) return missing();
  if (name !== undefined)
    return serveObject(extension, {
      method,
      key: `${namespace}/${name}`,
      send,
      missing: () => missing({ name, group: GROUP, kind: 'flunders' }),
      watchers,
    });
  if (method === 'POST') return create(extension, { namespace, body, send, watchers });
  if (searchParams.get('watch') === 'true') return watch(extension, { response, watchers, searchParams });
  const items = [...extension.objects.values()].filter(({ metadata }) => metadata.namespace === namespace);
  if (method === 'DELETE') {
    for (const { metadata } of items) extension.objects.delete(`${namespace}/${metadata.name}`);
  }
  if (accept.includes('as=Table')) return send(200, tableOf(items));
  send(200, listOf(extension, items));
}

const listOf = ({ history }: ExtensionServer, items: readonly Flunder[]): object => ({
  kind: 'FlunderList',
  apiVersion: `${GROUP}/${VERSION}`,
  metadata: { resourceVersion: String(history.length) },
  items,
});

interface ObjectExchange {
  readonly method: string;
  readonly key: string;
  readonly send: (status: number, value: object) => void;
  readonly missing: () => void;
  readonly watchers: Set<Watcher>;
}

function serveObject(
  { objects, history }: ExtensionServer,
  { method, key, send, missing, watchers }: ObjectExchange,
): void {
  const found = objects.get(key);
  if (found === undefined) return missing();
  if (method === 'DELETE') {
    objects.delete(key);
    const metadata = { ...found.metadata, resourceVersion: String(history.length + 1) };
    const object = { ...found, metadata };
    history.push({ type: 'DELETED', object });
    for (const tell of watchers) tell('DELETED', object);
  }
  send(200, found);
}

interface Creation {
  readonly namespace: string;
  readonly body: string;
  readonly send: (status: number, value: object) => void;
  readonly watchers: Set<Watcher>;
}

function create({ objects, history }: ExtensionServer, { namespace, body, send, watchers }: Creation): void {
  const given = JSON.parse(body) as Flunder;
  const { name } = given.metadata;
  const metadata = { ...given.metadata, namespace, uid: `uid-${name}`, resourceVersion: String(history.length + 1) };
  const made: Flunder = { ...given, metadata };
  objects.set(`${namespace}/${name}`, made);
  history.push({ type: 'ADDED', object: made });
  for (const tell of watchers) tell('ADDED', made);
  send(201, made);
}

interface WatchExchange {
  readonly response: ServerResponse;
  readonly watchers: Set<Watcher>;
  readonly searchParams: URLSearchParams;
}

/** The number of a change is its place in the history. */
function watch({ history }: ExtensionServer, { response, watchers, searchParams }: WatchExchange): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  const tell: Watcher = (type, object) => void response.write(`${JSON.stringify({ type, object })}\n`);
  const from = Number(searchParams.get('resourceVersion') ?? history.length);
  for (const { type, object } of history.slice(from)) tell(type, object);
  watchers.add(tell);
  response.once('close', () => watchers.delete(tell));
}

const tableOf = (items: readonly Flunder[]): object => ({
  kind: 'Table',
  apiVersion: 'meta.k8s.io/v1',
  metadata: { resourceVersion: '1' },
  columnDefinitions: [
    { name: 'Name', type: 'string', format: 'name', description: 'its name', priority: 0 },
    { name: 'Fins', type: 'string', format: '', description: 'how many', priority: 0 },
  ],
  rows: items.map((object) => ({
    cells: [object.metadata.name, '7'],
    object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata },
  })),
});
