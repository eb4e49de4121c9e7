import { mkdir } from 'node:fs/promises';
import { describeError, type Service } from '@holdfast/platform';
import { nodeHttp } from '@holdfast/platform/http';
import { badOption } from '../options.ts';
import { type FlagSpec, readFlags } from './flags.ts';

/** The flags that have an effect, and those that envtest looks for. */
export const ETCD_FLAGS: readonly FlagSpec[] = [
  { name: 'listen-client-urls', help: 'where /health answers' },
  { name: 'data-dir', help: 'is created; nothing is stored in it' },
  { name: 'unsafe-no-fsync', help: 'has no effect', isSwitch: true },
];

const DEFAULT_URL = 'http://127.0.0.1:2379';

/** Stands in for etcd: the objects are in the memory of the API server, so that this has to answer only `/health` and `/version`. */
export function createEtcdOf(argv: readonly string[]): Service {
  const { values } = readFlags(ETCD_FLAGS, argv);
  const { host, port } = addressOf(values.get('listen-client-urls') ?? DEFAULT_URL);
  const folder = values.get('data-dir');
  const server = nodeHttp().createServer((request, response) => {
    const answer = ANSWERS.get(request.url ?? '');
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(answer ?? '{"error":"Holdfast stands in for etcd here and has no such path"}');
  });
  return {
    name: 'etcd',
    start: async () => {
      if (folder !== undefined) await mkdir(folder, { recursive: true, mode: 0o700 });
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      server.on('error', (cause) =>
        reject(badOption(`etcd cannot listen on ${host}:${port}: ${describeError(cause)}`, 'Choose another address.')),
      );
      server.listen(port, host, resolve);
      await promise;
    },
    stop: async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      server.closeAllConnections();
      await promise;
    },
  };
}

const ANSWERS: ReadonlyMap<string, string> = new Map([
  ['/health', '{"health":"true","reason":""}'],
  ['/version', '{"etcdserver":"3.5.0","etcdcluster":"3.5.0"}'],
]);

/** The first of the URLs. */
function addressOf(urls: string): { readonly host: string; readonly port: number } {
  const [first = ''] = urls.split(',');
  const url = URL.parse(first);
  if (url?.protocol !== 'http:') {
    throw badOption(`--listen-client-urls ${first} is not an http URL`, 'Give one, as in http://127.0.0.1:2379.');
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (!['127.0.0.1', 'localhost', '::1'].includes(host)) {
    throw badOption(`--listen-client-urls ${first} is not on loopback`, 'Use 127.0.0.1.');
  }
  return { host, port: Number(url.port === '' ? '80' : url.port) };
}
