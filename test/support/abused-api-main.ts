import { createApiServer } from '@holdfast/apiserver';
import { AnswersUnderWay, createHttpsServer, type HttpsLimits } from '@holdfast/apiserver/https';
import { createIds, createSilentLog, createSystemClock, createSystemRandom, nextTurn } from '@holdfast/platform';
import { storeLimits } from '@holdfast/platform/store-limit';
import { createMemoryStore } from '@holdfast/store/memory';

/** An API server in a process of its own, so that its memory can be measured. Speaks with its test over IPC. */
interface Setup {
  readonly certificate: string;
  readonly key: string;
  readonly clientCa: string;
  readonly limits: Partial<HttpsLimits>;
}

const setup = await new Promise<Setup>((resolve) => process.once('message', (message: Setup) => resolve(message)));
const machine = { clock: createSystemClock(), ids: createIds(createSystemRandom()), log: createSilentLog() };
const groups = ['system:masters', 'system:authenticated'];
const answers = new AnswersUnderWay();
const api = createApiServer({
  answers,
  ...machine,
  store: createMemoryStore({ limits: storeLimits(undefined) }),
  tokens: new Map([
    ['admin', { name: 'admin', groups }],
    ['editor', { name: 'editor', groups: ['system:authenticated'] }],
    ['nobody', { name: 'nobody', groups: ['system:authenticated'] }],
    ['reader', { name: 'reader', groups }],
    ['node-a', { name: 'system:node:a', groups: ['system:nodes', 'system:authenticated'] }],
  ]),
  nodes: () => ({
    request: () =>
      Promise.resolve({
        status: 200,
        headers: { 'content-type': 'text/plain' },
        body: { kind: 'stream', chunks: endlessLog() },
      }),
  }),
});
/** A kubelet with endless logs for every container. */
async function* endlessLog(): AsyncGenerator<Uint8Array> {
  for (;;) {
    yield Buffer.alloc(LOG_CHUNK_BYTES, 'l');
    await nextTurn();
  }
}
const LOG_CHUNK_BYTES = 64 * 1024;

const { limits, ...tls } = setup;
const https = createHttpsServer({ handle: api.handle, answers, ...machine, host: '127.0.0.1', port: 0, tls, limits });
await api.start();
await https.start();
process.on('message', () => void measure().then((measured) => process.send?.(measured)));
process.on('disconnect', () => process.exit(0));
process.send?.({ port: https.address().port });

/** The pipeline's thread and that of the clients together. */
async function measure(): Promise<{ readonly bytes: number; readonly connections: number; readonly cpuMs: number }> {
  const { user, system } = process.cpuUsage();
  const front = await https.measure();
  global.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return { bytes: heapUsed + external + front.bytes, connections: front.connections, cpuMs: (user + system) / 1_000 };
}
