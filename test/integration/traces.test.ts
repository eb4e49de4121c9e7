import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { loadKubeConfig } from '../support/javascript-client.ts';
import { waitFor } from '../support/wait.ts';

/** The part of OTLP/HTTP with JSON that the test reads. */
interface Exported {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[];
  }[];
}

interface ExportedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

class Receiver implements AsyncDisposable {
  readonly spans: ExportedSpan[] = [];
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString()) as Exported;
      for (const { scopeSpans } of resourceSpans) for (const { spans } of scopeSpans) this.spans.push(...spans);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    const address = this.#server.address();
    assert.ok(typeof address === 'object' && address !== null);
    return `http://127.0.0.1:${address.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}

const valueOf = (span: ExportedSpan, key: string): unknown =>
  Object.values(span.attributes.find((each) => each.key === key)?.value ?? {})[0];

test('one trace goes from a client through the API, the store, the bus, controllers and the scheduler to the start of a container', async (t) => {
  const receiver = await Receiver.start();
  t.after(() => receiver[Symbol.asyncDispose]());
  const environment = ['OTEL_EXPORTER_OTLP_PROTOCOL=http/json', 'OTEL_BSP_SCHEDULE_DELAY=100'];
  const flags = ['--memory', '--nodes', '0', '--hollow-nodes', '1', '--tracing-endpoint', receiver.url];
  const cluster = await HoldfastProcess.start(flags, undefined, environment);
  t.after(() => cluster[Symbol.asyncDispose]());
  const asked = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
  const created = await post(cluster, '/apis/apps/v1/namespaces/default/deployments', DEPLOYMENT, {
    traceparent: `00-${asked.traceId}-${asked.spanId}-01`,
  });
  assert.equal(created, 201);

  const request = await waitFor('the span of the request', () =>
    receiver.spans.find(({ name, traceId }) => name === 'create deployments' && traceId === asked.traceId),
  );
  assert.equal(request.parentSpanId, asked.spanId);
  assert.equal(Number(valueOf(request, 'http.response.status_code')), 201);
  const partOf = (parent: ExportedSpan, name: string): Promise<ExportedSpan> =>
    waitFor(`the span ${name}`, () =>
      receiver.spans.find((span) => span.name === name && span.parentSpanId === parent.spanId),
    );
  const write = await partOf(request, 'store.write');
  assert.equal(write.traceId, asked.traceId);
  assert.equal(valueOf(write, 'holdfast.store.outcome'), 'committed');

  // Through the bus and the work items, each step in the same trace, until the container runs.
  const next = async (name: string | RegExp): Promise<ExportedSpan> =>
    waitFor(`the span ${name}`, () =>
      receiver.spans.find((span) => span.traceId === asked.traceId && span.name.search(name) === 0),
    );
  const pass = await next(/reconcile deployment/);
  assert.equal(pass.parentSpanId, write.spanId, 'the write caused the pass');
  await partOf(await next('create replicasets'), 'store.write');
  await next(/reconcile replicaset/);
  const podWrite = await partOf(await next('create pods'), 'store.write');
  const decision = await next('Scheduling');
  const binding = await next('bind pod');
  for (const caused of [decision, binding]) assert.equal(caused.parentSpanId, podWrite.spanId);
  const bindingWrite = await partOf(await partOf(binding, 'create pods/binding'), 'store.write');
  const start = await next('start container');
  const sync = await waitFor('the pass of the kubelet', () =>
    receiver.spans.find(({ spanId }) => spanId === start.parentSpanId),
  );
  assert.deepEqual([sync.name, sync.parentSpanId], ['sync pod', bindingWrite.spanId]);
  assert.equal(valueOf(start, 'holdfast.container'), 'main');
});

const DEPLOYMENT = {
  metadata: { name: 'traced' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'traced' } },
    template: {
      metadata: { labels: { app: 'traced' } },
      spec: { containers: [{ name: 'main', image: 'busybox' }] },
    },
  },
};

/** Answers the status. */
async function post(
  cluster: HoldfastProcess,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const config = loadKubeConfig(cluster.ready.kubeconfig);
  const ca = Buffer.from(config.getCurrentCluster()?.caData ?? '', 'base64');
  const authorization = `Bearer ${config.getCurrentUser()?.token}`;
  const all = { authorization, 'content-type': 'application/json', ...headers };
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sent = httpsRequest(`${cluster.ready.url}${path}`, { method: 'POST', ca, headers: all }, (response) => {
    response.resume().on('end', () => resolve(response.statusCode ?? 0));
  });
  sent.on('error', reject).end(JSON.stringify(body));
  return promise;
}
