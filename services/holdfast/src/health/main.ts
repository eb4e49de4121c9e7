import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { nodeHttps, readOkText } from '@holdfast/platform/http';
import { isFreshLease, isReadyNode } from './judge.ts';

// Health check of a container, run inside it: `apiserver`, `node <name>`, or `lease <name>`. A component that works through the
// API is healthy when the API knows it as such; that also notices one that runs but achieves nothing. It runs every few seconds in
// every container: what it loads is most of what an idle cluster costs, so it loads little.
const [what = '', name = ''] = process.argv.slice(2);
const ANSWER_DEADLINE_MS = 2_500;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

async function ask(url: string, token?: string): Promise<unknown> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const signal = AbortSignal.timeout(ANSWER_DEADLINE_MS);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    nodeHttps().get(url, { headers, signal }, resolve).on('error', reject);
  });
  const text = await readOkText(answer, url, ANSWER_BYTES_MAX);
  return text.startsWith('{') ? JSON.parse(text) : text;
}

/** From whichever API server answers. */
async function askApi(path: string): Promise<unknown> {
  const servers = (process.env['HOLDFAST_API_SERVERS'] ?? '').split(',');
  const token = readFileSync(process.env['HOLDFAST_TOKEN_FILE'] ?? '', 'utf8').trim();
  return Promise.any(servers.map((server) => ask(`${server}${path}`, token)));
}

async function healthy(): Promise<boolean> {
  if (what === 'apiserver') return (await ask('https://127.0.0.1:6443/readyz')) !== undefined;
  if (what === 'node') return isReadyNode(await askApi(`/api/v1/nodes/${name}`));
  if (what === 'lease') {
    return isFreshLease(await askApi(`/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/${name}`), Date.now());
  }
  throw new Error(`unknown health check "${what}"`);
}

try {
  process.exitCode = (await healthy()) ? 0 : 1;
} catch (error) {
  const reasons = error instanceof AggregateError ? error.errors : [error];
  process.stderr.write(`${reasons.map(String).join('\n')}\n`);
  process.exitCode = 1;
}
