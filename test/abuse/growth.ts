import { createApiServer } from '@holdfast/apiserver';
import type { ApiRequest } from '@holdfast/client';
import { createIds, createSeededRandom, createSilentLog, createSystemClock } from '@holdfast/platform';
import { createMemoryStore } from '@holdfast/store/memory';
import { type Scenario, type Sent, scriptedWebhooks } from './growth-scenarios.ts';
import { nameOf, type Variant, type WideField, wideDocument } from './wide-documents.ts';

/** The cost of the same request at two sizes, one four times the other. */
export interface Growth {
  readonly name: string;
  readonly smallMs: number;
  readonly largeMs: number;
}

export const TIMES_LARGER = 4;
/** Linear work grows 4 times, quadratic work 16 times. What is between is memory, and the sorting of long lists. */
const RATIO_MAX = 9;
/** Less than this on a server's thread is not a stall, however it grows: `large` is the maximum size. */
const STALL_MS = 80;

export const isStall = ({ smallMs, largeMs }: Growth): boolean => largeMs > STALL_MS && largeMs > smallMs * RATIO_MAX;

type Send = (request: ApiRequest) => Promise<{ readonly status: number; readonly cpuMs: number }>;

export interface GrowthLab {
  readonly measure: (field: WideField, how: How) => Promise<readonly Growth[]>;
  /** The least of so many runs counts. */
  readonly compare: (scenario: Scenario, runs: number) => Promise<Growth>;
  readonly stop: () => Promise<void>;
}

export interface How {
  readonly variant: Variant;
  /** Entries of the larger document. */
  readonly size: number;
  /** The least of so many runs counts. */
  readonly runs: number;
}

/** An API server in this process whose namespace has quotas, limits and pod security, so that every plugin has something to do. */
export async function startGrowthLab(): Promise<GrowthLab> {
  const store = createMemoryStore();
  const server = createApiServer({
    clock: createSystemClock(),
    ids: createIds(createSeededRandom(1, 'growth')),
    log: createSilentLog(),
    tokens: new Map([['admin', { name: 'admin', groups: ['system:masters', 'system:authenticated'] }]]),
    store,
    webhooks: scriptedWebhooks,
  });
  await server.start();
  const send: Send = async (request) => {
    const began = cpuMs();
    const response = await server.handle(request);
    if (response.body.kind === 'json') response.body.bytes();
    return { status: response.status, cpuMs: cpuMs() - began };
  };
  for (const [path, document] of SCENE) await send(requestOf('POST', path, document));
  return {
    measure: (field, how) => measure(send, field, how),
    compare: (scenario, runs) => compare(send, scenario, runs),
    stop: async () => {
      await server.stop();
      await store.close();
    },
  };
}

const NAMESPACE = 'growth';
const IN_NAMESPACE = `/api/v1/namespaces/${NAMESPACE}`;
const LEVEL = 'pod-security.kubernetes.io';
const SCENE: readonly (readonly [string, unknown])[] = [
  [
    '/api/v1/namespaces',
    { metadata: { name: NAMESPACE, labels: { [`${LEVEL}/warn`]: 'restricted', [`${LEVEL}/audit`]: 'restricted' } } },
  ],
  [`${IN_NAMESPACE}/serviceaccounts`, { metadata: { name: 'default' } }],
  [
    `${IN_NAMESPACE}/limitranges`,
    {
      metadata: { name: 'l' },
      spec: { limits: [{ type: 'Container', default: { cpu: '1' }, defaultRequest: { cpu: '1' } }] },
    },
  ],
  [
    `${IN_NAMESPACE}/resourcequotas`,
    { metadata: { name: 'q' }, spec: { hard: { 'requests.cpu': '100k', pods: '1k', services: '1k' } } },
  ],
];

/** A document is sent whole, as a patch of each type to an object that is there, and over another one of its size. */
async function measure(send: Send, field: WideField, how: How): Promise<readonly Growth[]> {
  const sizes = [Math.floor(how.size / TIMES_LARGER), how.size] as const;
  const least = new Map<string, number[]>();
  for (const [at, size] of sizes.entries()) {
    for (let run = 0; run < how.runs; run += 1) {
      for (const [what, spent] of await spentOn(send, field, { ...how, size })) {
        const known = least.get(what) ?? [Infinity, Infinity];
        known[at] = Math.min(known[at] ?? Infinity, spent);
        least.set(what, known);
      }
    }
  }
  return [...least]
    .filter(([, [small, large]]) => small !== Infinity && large !== Infinity)
    .map(([what, [smallMs = 0, largeMs = 0]]) => ({
      name: `${nameOf(field)} (${how.variant}): ${what}`,
      smallMs,
      largeMs,
    }));
}

async function compare(send: Send, scenario: Scenario, runs: number): Promise<Growth> {
  const { name, size, before, served, request } = scenario;
  const least = async (of: number): Promise<{ readonly ms: number; readonly status: number }> => {
    for (const each of before?.(of) ?? []) await send(asRequest(each));
    if (served !== undefined) await untilServed(send, served);
    const sent = asRequest(request(of));
    let ms = Infinity;
    let status = 0;
    for (let run = 0; run < runs; run += 1) {
      const answer = await send(sent);
      ms = Math.min(ms, answer.cpuMs);
      status = answer.status;
    }
    return { ms, status };
  };
  const small = await least(Math.floor(size / TIMES_LARGER));
  const large = await least(size);
  return { name: `${name} (${small.status}, ${large.status})`, smallMs: small.ms, largeMs: large.ms };
}

async function untilServed(send: Send, path: string): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    if ((await send(asRequest({ method: 'GET', path }))).status === 200) return;
    await createSystemClock().sleep(LOOK_AGAIN_MS);
  }
  throw new Error(`${path} is not served`);
}

const LOOKS_MAX = 1_000;
const LOOK_AGAIN_MS = 5;

const asRequest = ({ method, path, body, headers }: Sent): ApiRequest => requestOf(method, path, body, headers);

async function spentOn(send: Send, field: WideField, { size, variant }: How): Promise<ReadonlyMap<string, number>> {
  const { definition } = field;
  const spent = new Map<string, number>();
  const path = pathOf(field);
  const document = wideDocument(field, size, variant);
  const text = JSON.stringify(document);
  const note = async (what: string, request: ApiRequest): Promise<number> => {
    const { status, cpuMs: ms } = await send(request);
    spent.set(what, ms);
    return status;
  };
  await note('create', requestOf('POST', `${path}?dryRun=All`, text, { accept: TABLE }));
  const created = await send(requestOf('POST', path, text));
  if (created.status !== 201) return spent;
  const one = `${path}/wide`;
  const other = JSON.stringify(wideDocument(field, size, variant === 'alike' ? 'distinct' : 'alike'));
  await note('update', requestOf('PUT', `${one}?dryRun=All`, other));
  for (const type of ['merge-patch+json', 'strategic-merge-patch+json', 'apply-patch+yaml']) {
    const query = type.startsWith('apply') ? 'dryRun=All&fieldManager=a&force=true' : 'dryRun=All';
    await note(type, requestOf('PATCH', `${one}?${query}`, other, { 'content-type': `application/${type}` }));
  }
  await note('read', requestOf('GET', definition.verbs.includes('list') ? path : one, undefined, { accept: TABLE }));
  await send(requestOf('DELETE', one));
  return spent;
}

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

function pathOf({ definition }: WideField): string {
  const { group, version, plural, namespaced } = definition;
  const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespaced ? `${base}/namespaces/${NAMESPACE}/${plural}` : `${base}/${plural}`;
}

function requestOf(
  method: ApiRequest['method'],
  url: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): ApiRequest {
  const [path = '', query = ''] = url.split('?');
  const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
  return {
    method,
    path,
    query: new URLSearchParams(query),
    headers: { authorization: 'Bearer admin', 'content-type': 'application/json', ...headers },
    ...(text === undefined ? {} : { body: text }),
  };
}

/** Time of this thread on a core: that of other programs on the machine does not count. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
