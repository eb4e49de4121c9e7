import { generateKeyPairSync } from 'node:crypto';
import { createIds, createSeededRandom, createSilentLog, createSystemClock } from '@holdfast/platform';
import type { ApiRequest, ApiResponse } from '../../libs/client/src/index.ts';
import { createMemoryStore } from '../../libs/store/src/memory/index.ts';
import { type ApiServer, createApiServer } from '../../services/apiserver/src/index.ts';
import { CORPUS, type HostileRequest, type PlainRequest } from '../../test/abuse/corpus.ts';

/**
 * An API server in its own process that sends hostile requests to itself and reports how long each blocked its thread.
 */
export interface Held {
  readonly name: string;
  /** The longest time in which no other request could be served. */
  readonly heldMs: number;
  readonly allMs: number;
  readonly status: number;
}

let server: ApiServer | undefined;

async function startServer(): Promise<void> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const masters = ['system:masters', 'system:authenticated'];
  const started = createApiServer({
    clock: createSystemClock(),
    ids: createIds(createSeededRandom(1, 'hostile')),
    log: createSilentLog(),
    store: createMemoryStore(),
    serviceAccounts: { signingKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() },
    tokens: new Map([
      ['admin', { name: 'admin', groups: masters }],
      ['editor', { name: 'editor', groups: ['system:authenticated'] }],
      ['nobody', { name: 'nobody', groups: ['system:authenticated'] }],
    ]),
  });
  await started.start();
  server = started;
  const binding = {
    metadata: { name: 'editor' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'editor' }],
  };
  await create('/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', binding);
  await create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
}

const create = (path: string, document: unknown): Promise<number> =>
  play({ method: 'POST', path, body: () => JSON.stringify(document) }, 'admin');

async function measure(request: HostileRequest): Promise<Held> {
  const { name, atOnce = 1 } = request;
  const sent = Array.from({ length: atOnce }, () => asSent(request, request.sender));
  await turn();
  global.gc?.();
  const began = cpuMs();
  let previous = began;
  let heldMs = 0;
  let isDone = false;
  const look = (): void => {
    const now = cpuMs();
    heldMs = Math.max(heldMs, now - previous);
    previous = now;
    if (!isDone) setImmediate(look);
  };
  setImmediate(look);
  const statuses = await Promise.all(sent.map((each) => answered(each)));
  isDone = true;
  look();
  return { name, heldMs, allMs: cpuMs() - began, status: statuses[0] ?? 0 };
}

async function play(request: PlainRequest, token: string): Promise<number> {
  return answered(asSent(request, token));
}

function asSent(
  { method, path, headers, body }: PlainRequest,
  token: string,
): ApiRequest & { readonly abort: AbortController } {
  const [where = '', query = ''] = path.split('?');
  const abort = new AbortController();
  return {
    method,
    path: where,
    query: new URLSearchParams(query),
    headers: { authorization: `Bearer ${token}`, ...headers },
    ...(body === undefined ? {} : { body: Buffer.from(body()) }),
    signal: abort.signal,
    abort,
  };
}

/** Reads the whole response; of a watch only the initial part. */
async function answered(request: ApiRequest & { readonly abort: AbortController }): Promise<number> {
  if (server === undefined) throw new Error('no server was started');
  const response = await server.handle(request);
  await readAll(response, request.abort);
  return response.status;
}

async function readAll({ body }: ApiResponse, abort: AbortController): Promise<void> {
  if (body.kind === 'json') {
    body.bytes();
    return;
  }
  if (body.kind !== 'watch') return;
  const stop = setTimeout(() => abort.abort(), 1_000);
  for await (const frame of body.frames) frame.bytes();
  clearTimeout(stop);
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Time of this thread on a core: that of other programs on the machine does not count. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

const names = await new Promise<readonly string[]>((resolve) => process.once('message', resolve));
const wanted = CORPUS.filter(({ name }) => names.includes(name));
let last: readonly PlainRequest[] | undefined;
for (const request of wanted) {
  if (server === undefined || last !== request.before) {
    last = request.before;
    await server?.stop();
    await startServer();
    for (const each of request.before ?? []) await play(each, 'admin');
  }
  process.send?.(await measure(request));
}
