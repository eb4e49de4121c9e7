import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createIds, createSilentLog, createSystemClock, createSystemRandom } from '@holdfast/platform';
import { ENDPOINT_SLICES, NODES, SERVICES } from '../../libs/api/src/index.ts';
import { createApiClient, createDirectTransport } from '../../libs/client/src/index.ts';
import { FakeApi, pathFor } from '../../libs/client/src/testing/index.ts';
import {
  createNftFilter,
  createProxy,
  DEFAULT_PROXY_OPTIONS,
  type PacketFilter,
} from '../../services/proxy/src/index.ts';
import { node, service, slice } from '../../services/proxy/src/testing/builders.ts';
import { ascending, type Figure, percentile } from './figures.ts';

export interface RuleLoad {
  readonly services: number;
  readonly endpoints: number;
  readonly changes: number;
}

/** The rules of many services in the kernel: all of them at the start, and changes of one endpoint. */
export async function ruleRows(load: RuleLoad, print: (figure: Figure) => void): Promise<void> {
  const keeper = spawn('unshare', ['--net', '--', 'sh', '-c', 'echo ready; exec sleep 3600'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(keeper.stdout, 'data');
  try {
    await inNetwork(load, ['nsenter', `--net=/proc/${keeper.pid}/ns/net`, '--'], print);
  } finally {
    keeper.kill('SIGKILL');
  }
}

async function inNetwork(load: RuleLoad, commandPrefix: readonly string[], print: (figure: Figure) => void) {
  const [clock, random] = [createSystemClock(), createSystemRandom()];
  const api = new FakeApi(clock);
  api.put(pathFor(NODES, '', 'a'), node('a'));
  for (let i = 0; i < load.services; i++) putService(api, i, load.endpoints);
  const written = new Writes(createNftFilter({ clock, random, commandPrefix }));
  const proxy = createProxy({
    client: createApiClient({ transport: createDirectTransport(api.handler), userAgent: 'bench' }),
    clock,
    random,
    ids: createIds(random),
    log: createSilentLog(),
    nodeName: 'a',
    filter: written,
    options: { ...DEFAULT_PROXY_OPTIONS, networkPolicies: false },
  });
  const startedAt = performance.now();
  await proxy.start();
  const size = `${load.services} services with ${load.services * load.endpoints} endpoints`;
  print({ row: 'all rules', value: written.lastMs, unit: 'ms', note: `one transaction, ${size}` });
  const note = 'lists, decisions and that transaction';
  print({ row: 'from the start', value: performance.now() - startedAt, unit: 'ms', note });
  await changes(load, api, written, print);
  await proxy.stop();
}

async function changes(load: RuleLoad, api: FakeApi, written: Writes, print: (figure: Figure) => void): Promise<void> {
  const [seen, kernel]: [number[], number[]] = [[], []];
  const before = childrenMs();
  for (let i = 0; i < load.changes; i++) {
    const next = written.next();
    const startedAt = performance.now();
    putSlice(api, (i * 37) % load.services, load.endpoints, 1 + (i % 200));
    await next;
    seen.push(performance.now() - startedAt);
    kernel.push(written.lastMs);
  }
  const [all, alone] = [ascending(seen), ascending(kernel)];
  const p99 = percentile(all, 0.99).toFixed(0);
  const note = `p50 of ${load.changes}, from the change to the rule in the kernel, of it 10 ms to gather changes; p99 ${p99} ms`;
  print({ row: 'one endpoint', value: percentile(all, 0.5), unit: 'ms', note });
  const p99Alone = percentile(alone, 0.99).toFixed(0);
  const cores = ((childrenMs() - before) / load.changes).toFixed(1);
  const ofNft = `p50 of nft alone; p99 ${p99Alone} ms; ${cores} ms on the cores each`;
  print({ row: 'its transaction', value: percentile(alone, 0.5), unit: 'ms', note: ofNft });
}

/** Time on the cores of all programs that this process has run, in steps of 10 ms (`proc(5)`). */
function childrenMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

/** A filter that says when a change is in the kernel. */
class Writes implements PacketFilter {
  readonly #inner: PacketFilter;
  #waiting: (() => void)[] = [];
  lastMs = 0;

  constructor(inner: PacketFilter) {
    this.#inner = inner;
  }

  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  apply: PacketFilter['apply'] = (changed) => this.#timed(() => this.#inner.apply(changed));
  reset: PacketFilter['reset'] = (tables) => this.#timed(() => this.#inner.reset(tables));
  isIntact: PacketFilter['isIntact'] = () => this.#inner.isIntact();
  remove: PacketFilter['remove'] = () => this.#inner.remove();

  async #timed(write: () => Promise<void>): Promise<void> {
    const startedAt = performance.now();
    await write();
    this.lastMs = performance.now() - startedAt;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

const nameOf = (i: number): string => `service-${i}`;

function putService(api: FakeApi, i: number, endpoints: number): void {
  const clusterIP = `10.${96 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
  api.put(pathFor(SERVICES, 'default', nameOf(i)), service({ name: nameOf(i), clusterIP }));
  putSlice(api, i, endpoints, 0);
}

/** `moved`: the last part of the address of the first endpoint. */
function putSlice(api: FakeApi, i: number, endpoints: number, moved: number): void {
  const name = `${nameOf(i)}-1`;
  const addresses = Array.from({ length: endpoints }, (_, n) => ({
    address: n === 0 ? `10.250.${i & 255}.${1 + moved}` : `10.${128 + (i >> 8)}.${i & 255}.${n}`,
  }));
  api.put(pathFor(ENDPOINT_SLICES, 'default', name), slice(addresses, { of: nameOf(i), name }));
}
