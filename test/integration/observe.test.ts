import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { prepareState, readSetupConfig } from '@holdfast/holdfast/setup';
import { createSystemClock } from '@holdfast/platform';
import { parse } from 'yaml';
import { freePort } from '../support/free-port.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { kubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const OBSERVE = 'docs/examples/observe';
const textOf = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

interface Service {
  readonly image?: string;
  readonly profiles?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

const { services } = parse(textOf('docker-compose.yml'), { merge: true, maxAliasCount: -1 }) as {
  readonly services: Readonly<Record<string, Service>>;
};
const observers = Object.entries(services).filter(([, { profiles }]) => profiles?.includes('observe') === true);

interface ScrapeJob {
  readonly job_name: string;
  readonly scheme: string;
  readonly metrics_path?: string;
  readonly authorization: { readonly credentials_file: string };
  readonly tls_config: { readonly ca_file: string; readonly server_name?: string };
  readonly file_sd_configs: readonly { readonly files: readonly string[] }[];
}

const { scrape_configs: jobs } = parse(textOf(`${OBSERVE}/prometheus.yml`)) as {
  readonly scrape_configs: readonly ScrapeJob[];
};

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const { panels } = JSON.parse(textOf(`${OBSERVE}/holdfast.json`)) as { readonly panels: readonly Panel[] };
const queries = panels.flatMap(({ title, targets = [] }) => targets.map((each) => ({ title, ...each })));

test('what observes has pinned images, answers on this machine only, and finds its files', () => {
  assert.deepEqual(observers.map(([name]) => name).sort(), ['grafana', 'jaeger', 'prometheus']);
  for (const [name, { image = '', ports = [], volumes = [], cap_drop: dropped }] of observers) {
    assert.match(image, /^\$\{HOLDFAST_[A-Z]+_IMAGE:-[a-z]+\/[a-z-]+:v?\d+\.\d+\.\d+\}$/, name);
    assert.deepEqual(dropped, ['ALL'], name);
    assert.ok(
      ports.every((port) => port.startsWith('127.0.0.1:')),
      name,
    );
    const own = volumes.map((volume) => volume.split(':')[0] ?? '').filter((from) => from.startsWith('./'));
    for (const file of own) assert.ok(existsSync(path.join(ROOT, file)), file);
  }
});

test('every component of compose sends its traces where the setting says, or nowhere', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Compose replaces it.
  const setting = '${HOLDFAST_TRACING_ENDPOINT:-}';
  for (const name of ['apiserver-1', 'apiserver-2', 'scheduler', 'controller-manager', 'node-1', 'node-2', 'node-3'])
    assert.equal(services[name]?.environment?.['HOLDFAST_TRACING_ENDPOINT'], setting, name);
});

test('setup writes every file that Prometheus reads, with the targets of both forms', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-observe-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const uid = String(process.getuid?.() ?? 0);
  const own = { HOLDFAST_STATE_DIR: folder, HOLDFAST_COMPONENT_UID: uid, HOLDFAST_REDIS_UID: uid };
  const prepare = async (env: Readonly<Record<string, string>>): Promise<Map<string, string>> => {
    const config = readSetupConfig({ argv: [], env: { ...own, ...env } });
    assert.ok(config !== undefined);
    await prepareState(config, createSystemClock().now());
    const observe = path.join(folder, 'observe');
    return new Map(readdirSync(observe).map((name) => [name, readFileSync(path.join(observe, name), 'utf8')]));
  };
  const files = await prepare({});
  const read = jobs.flatMap(({ authorization, tls_config: tls, file_sd_configs: found }) => [
    authorization.credentials_file,
    tls.ca_file,
    ...found.flatMap((each) => each.files),
  ]);
  for (const file of read) assert.ok(files.has(file.replace('/etc/holdfast/', '')), file);
  assert.deepEqual(JSON.parse(files.get('schedulers.json') ?? ''), [{ targets: ['scheduler:10259'] }]);
  assert.match(files.get('nodes.json') ?? '', /"node-3:10250"/);
  const zones = await prepare({ HOLDFAST_STORE_SERVERS: 'nats-1,nats-2', HOLDFAST_API_SERVERS: 'a,b' });
  assert.deepEqual(JSON.parse(zones.get('schedulers.json') ?? '')[0].targets, ['scheduler:10259', 'scheduler-2:10259']);
  assert.deepEqual(JSON.parse(zones.get('apiservers.json') ?? '')[0].targets, ['a:6443', 'b:6443']);
});

test('the dashboard asks data sources that Grafana is given', () => {
  const { datasources } = parse(textOf(`${OBSERVE}/datasources.yaml`)) as {
    readonly datasources: readonly { readonly uid: string; readonly url: string }[];
  };
  const uids = datasources.map(({ uid }) => uid);
  for (const { title, type, datasource } of panels)
    if (type !== 'row') assert.ok(uids.includes(datasource?.uid ?? ''), title);
  for (const { url } of datasources) assert.ok(Object.hasOwn(services, new URL(url).hostname), url);
});

const SELECTOR = /([a-z_]+)\{([^}]*)\}/g;
const POD = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'one' },
  spec: { containers: [{ name: 'main', image: 'none', command: ['sleep', '3600'] }] },
});
/** Prometheus makes these itself. */
const OF_PROMETHEUS: ReadonlySet<string> = new Set(['up']);
const LABELS_OF_PROMETHEUS: ReadonlySet<string> = new Set(['job', 'instance', 'le']);
const SAMPLE = /^[a-zA-Z_:][\w:]*(?:\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*\})? \S+(?: -?\d+)?$/;

/** Receives traces as Jaeger does. */
async function startReceiver() {
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(`${request.method} ${request.url} ${request.headers['content-type']}`);
    request.resume().on('end', () => response.setHeader('content-type', 'application/x-protobuf').end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${address.port}`, received, close };
}

test('Prometheus may scrape what its file says, and every metric and label of the dashboard is there', async (t) => {
  const receiver = await startReceiver();
  t.after(receiver.close);
  const status = `127.0.0.1:${await freePort()}`;
  const environment = [`HOLDFAST_TRACING_ENDPOINT=${receiver.url}`, 'OTEL_BSP_SCHEDULE_DELAY=100'];
  const flags = ['--scheduler-status-address', status];
  await using cluster = await HoldfastProcess.start(flags, undefined, environment);
  const { kubeconfig, url } = cluster.ready;
  await kubectl(kubeconfig, ['create', '-f', '-'], POD);
  await kubectl(kubeconfig, ['wait', 'pod/one', '--for=condition=Ready', '--timeout=60s']);
  const user = 'holdfast:prometheus';
  const token = readFileSync(path.join(cluster.dataDir, 'tokens.csv'), 'utf8')
    .split('\n')
    .find((line) => line.includes(user))
    ?.split(',')[0];
  const asPrometheus = ['--token', token ?? '', '--insecure-skip-tls-verify'];
  // What a kubelet asks before it answers. Here it has no port of its own, so an administrator goes through the API.
  const mayReadNodes = await kubectl(kubeconfig, [
    'auth',
    'can-i',
    'get',
    'nodes',
    '--subresource=metrics',
    '--as',
    user,
  ]);
  assert.match(mayReadNodes, /yes/);
  const scrape = ({ job_name: job, metrics_path: file = '/metrics' }: ScrapeJob): Promise<string> => {
    if (job.startsWith('kubelet')) return kubectl(kubeconfig, ['get', '--raw', `/api/v1/nodes/node-1/proxy${file}`]);
    const server = job === 'apiserver' ? url : `https://${status}`;
    return kubectl('/dev/null', ['get', '--raw', file, '--server', server, ...asPrometheus]);
  };
  const missing = await waitFor('all metrics of the dashboard', async () => {
    const texts = await Promise.all(jobs.map(async (job) => [job.job_name, await scrape(job)] as const));
    for (const [job, text] of texts)
      for (const line of text.split('\n'))
        assert.ok(line === '' || line.startsWith('#') || SAMPLE.test(line), `${job}: ${line}`);
    const found = queries.flatMap((query) => missingIn(query, new Map(texts)));
    t.diagnostic(`missing: ${found.join('; ')}`);
    return found.length === 0 && { found };
  });
  assert.deepEqual(missing.found, []);
  await waitFor('traces', () => receiver.received.includes('POST /v1/traces application/x-protobuf'));
});

function missingIn(query: (typeof queries)[number], texts: ReadonlyMap<string, string>): readonly string[] {
  const { title, expr, legendFormat } = query;
  const selectors = [...expr.matchAll(SELECTOR)];
  assert.ok(selectors.length > 0, `${title} selects nothing`);
  const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
  return selectors.flatMap(([, metric = '', matchers = '']) => {
    if (OF_PROMETHEUS.has(metric)) return [];
    const job = /job="([^"]+)"/.exec(matchers)?.[1] ?? '';
    const text = texts.get(job);
    assert.ok(text !== undefined, `${title}: no job ${job}`);
    const samples = text.split('\n').filter((line) => new RegExp(`^${metric}[ {]`).test(line));
    const labels = [...[...matchers.matchAll(/(\w+)(?:=|!=|=~|!~)"/g)].map(([, label = '']) => label), ...shown];
    const wanted = labels.filter((label) => !LABELS_OF_PROMETHEUS.has(label));
    if (samples.some((line) => wanted.every((label) => line.includes(`${label}="`)))) return [];
    return [`${title}: ${metric} with ${wanted.join()}`];
  });
}
