import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { freePort } from '../support/free-port.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { kubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

const PAGE = path.resolve(import.meta.dirname, '../../docs/observability.md');
const ROW = /^\| .+ \| `(\w+)(?:\{(.*)\})?` \| (API server|scheduler|node) \| (yes|no) \|$/gm;
const POD = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'one' },
  spec: { containers: [{ name: 'main', image: 'none', command: ['sleep', '3600'] }] },
});

const API_WITHOUT_SERVICE = JSON.stringify({
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: 'v1.lost.example.com' },
  spec: {
    group: 'lost.example.com',
    version: 'v1',
    groupPriorityMinimum: 100,
    versionPriority: 100,
    insecureSkipTLSVerify: true,
    service: { namespace: 'default', name: 'lost' },
  },
});

interface Row {
  readonly metric: string;
  readonly labels: readonly string[];
  readonly from: string;
  readonly isFound: boolean;
}

const rows: readonly Row[] = [...readFileSync(PAGE, 'utf8').matchAll(ROW)].map(
  ([, metric = '', labels = '', from = '', found]) => ({
    metric,
    labels: labels === '' ? [] : labels.split(','),
    from,
    isFound: found === 'yes',
  }),
);

const has = (text: string, { metric, labels }: Row): boolean =>
  text
    .split('\n')
    .some((line) => new RegExp(`^${metric}[ {]`).test(line) && labels.every((label) => line.includes(label)));

test('rules of kube-prometheus find their metrics as the page says', async (t) => {
  const status = `127.0.0.1:${await freePort()}`;
  await using cluster = await HoldfastProcess.start(['--memory', '--scheduler-status-address', status]);
  const { kubeconfig } = cluster.ready;
  await kubectl(kubeconfig, ['create', '-f', '-'], POD);
  await kubectl(kubeconfig, ['create', '-f', '-'], API_WITHOUT_SERVICE);
  await kubectl(kubeconfig, ['wait', 'pod/one', '--for=condition=Ready', '--timeout=60s']);
  const server = `https://${status}`;
  const scheduler = ['--server', server, '--insecure-skip-tls-verify'];
  const scrape = async (): Promise<ReadonlyMap<string, string>> => {
    const raw = (file: string, ...more: readonly string[]) => kubectl(kubeconfig, ['get', '--raw', file, ...more]);
    const node = '/api/v1/nodes/node-1/proxy/metrics';
    return new Map([
      ['API server', await raw('/metrics')],
      ['scheduler', await raw('/metrics', ...scheduler)],
      ['node', `${await raw(node)}\n${await raw(`${node}/cadvisor`)}`],
    ]);
  };
  assert.ok(rows.length > 20);
  const isThere = (found: ReadonlyMap<string, string>, row: Row): boolean => has(found.get(row.from) ?? '', row);
  // Usage of a new pod is known after a while.
  const found = await waitFor('all metrics that the page names', async () => {
    const now = await scrape();
    const missing = rows.filter((row) => row.isFound && !isThere(now, row));
    t.diagnostic(`missing: ${missing.map(({ metric }) => metric).join(', ')}`);
    return missing.length === 0 && now;
  });
  for (const row of rows) assert.equal(isThere(found, row), row.isFound, row.metric);
});
