import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ApiHandler, type ApiRequest, type ApiResponse, type ApiTransport, TransportError } from './port.ts';

/** Calls `use` with a transport that reaches `handler`, then closes everything. */
export type WithTransport = (handler: ApiHandler, use: (transport: ApiTransport) => Promise<void>) => Promise<void>;

const json = (status: number, value: unknown): ApiResponse => ({
  status,
  headers: { 'x-test': 'yes' },
  body: { kind: 'json', bytes: () => new TextEncoder().encode(JSON.stringify(value)), value: () => value },
});

const get = (path: string, query = ''): ApiRequest => ({
  method: 'GET',
  path,
  query: new URLSearchParams(query),
  headers: { accept: 'application/json' },
});

/** Frames until the signal aborts, as the server's watch does. */
async function* countFor(signal: AbortSignal | undefined, frames: number, ended: () => void) {
  try {
    for (let n = 1; n <= frames; n++) {
      const event = { type: 'ADDED' as const, object: { n, text: 'ü'.repeat(n % 7) } };
      yield { bytes: () => new TextEncoder().encode(`${JSON.stringify(event)}\n`), value: () => event };
    }
    if (signal?.aborted === true) return;
    await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
  } finally {
    ended();
  }
}

/** Tests the contract of `ApiTransport`. */
export function transportContract(name: string, withTransport: WithTransport): void {
  test(`${name}: carries method, path, query, headers and body, and brings the answer back`, async () => {
    const seen: ApiRequest[] = [];
    const handler: ApiHandler = async (request) => {
      seen.push(request);
      return json(201, { hello: ['wörld'] });
    };
    await withTransport(handler, async (transport) => {
      const response = await transport.request({
        ...get('/api/v1/namespaces/a b/pods', 'labelSelector=a%3Db&limit=5'),
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
        body: '{"ü":1}',
      });
      assert.equal(response.status, 201);
      assert.equal(response.headers['x-test'], 'yes');
      assert.ok(response.body.kind === 'json');
      assert.deepEqual(response.body.value(), { hello: ['wörld'] });
      assert.deepEqual(JSON.parse(new TextDecoder().decode(response.body.bytes())), { hello: ['wörld'] });
    });
    const [request] = seen;
    assert.equal(request?.method, 'POST');
    assert.equal(request.path, '/api/v1/namespaces/a b/pods');
    assert.equal(request.query.get('labelSelector'), 'a=b');
    assert.equal(request.headers['authorization'], 'Bearer t');
    const body = request.body ?? '';
    assert.equal(typeof body === 'string' ? body : new TextDecoder().decode(body), '{"ü":1}');
  });

  test(`${name}: every status is an answer`, async () => {
    await withTransport(
      async (request) => json(Number(request.path.slice(1)), { code: Number(request.path.slice(1)) }),
      async (transport) => {
        for (const status of [200, 404, 409, 410, 422, 500, 503]) {
          assert.equal((await transport.request(get(`/${status}`))).status, status);
        }
      },
    );
  });

  test(`${name}: text and empty answers`, async () => {
    await withTransport(
      async (request) =>
        request.path === '/text'
          ? { status: 200, headers: {}, body: { kind: 'text', contentType: 'text/plain', text: 'ok ü' } }
          : { status: 200, headers: {}, body: { kind: 'empty' } },
      async (transport) => {
        const text = await transport.request(get('/text'));
        assert.equal(text.body.kind === 'text' ? text.body.text : undefined, 'ok ü');
        assert.equal((await transport.request(get('/empty'))).body.kind, 'empty');
      },
    );
  });

  test(`${name}: a watch brings every frame in order and ends on both sides when the signal aborts`, async () => {
    const { promise: ended, resolve: onEnd } = Promise.withResolvers<void>();
    const handler: ApiHandler = async (request) => ({
      status: 200,
      headers: {},
      body: { kind: 'watch', frames: countFor(request.signal, 500, onEnd) },
    });
    await withTransport(handler, async (transport) => {
      const abort = new AbortController();
      const response = await transport.request({ ...get('/pods', 'watch=true'), signal: abort.signal });
      assert.ok(response.body.kind === 'watch');
      const numbers: unknown[] = [];
      for await (const frame of response.body.frames) {
        const { object } = frame.value();
        numbers.push((object as { n: number }).n);
        if (numbers.length === 500) abort.abort();
      }
      assert.deepEqual(
        numbers,
        Array.from({ length: 500 }, (_, i) => i + 1),
      );
      await ended;
    });
  });

  test(`${name}: aborting rejects with TransportError and tells the server`, async () => {
    const { promise: told, resolve: onTold } = Promise.withResolvers<void>();
    const handler: ApiHandler = (request) =>
      new Promise((resolve) => {
        arrived.resolve();
        request.signal?.addEventListener('abort', () => {
          onTold();
          resolve(json(200, {}));
        });
      });
    const arrived = Promise.withResolvers<void>();
    await withTransport(handler, async (transport) => {
      const abort = new AbortController();
      const pending = transport.request({ ...get('/slow'), signal: abort.signal });
      await arrived.promise;
      abort.abort();
      await assert.rejects(pending, TransportError);
      await told;
    });
  });

  test(`${name}: a request whose signal was aborted before is not sent`, async () => {
    let served = 0;
    const handler: ApiHandler = async () => {
      served += 1;
      return json(200, {});
    };
    await withTransport(handler, async (transport) => {
      const aborted = transport.request({ ...get('/late'), signal: AbortSignal.abort() });
      await assert.rejects(aborted, TransportError);
      await transport.request(get('/next'));
      assert.equal(served, 1);
    });
  });

  test(`${name}: closing rejects what is under way, whether its caller could abort it or not`, async () => {
    const arrived = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<ApiResponse>();
    let seen = 0;
    const handler: ApiHandler = () => {
      seen += 1;
      if (seen === 2) arrived.resolve();
      return finish.promise;
    };
    await withTransport(handler, async (transport) => {
      const { signal } = new AbortController();
      const pending = [get('/slow'), { ...get('/slow'), signal }].map((request) =>
        assert.rejects(transport.request(request), (error) => error instanceof TransportError && error.possiblySent),
      );
      await arrived.promise;
      await transport.close();
      await Promise.all(pending);
      finish.resolve(json(200, {}));
    });
  });

  test(`${name}: after close every request is refused with certainty`, async () => {
    await withTransport(
      async () => json(200, {}),
      async (transport) => {
        await transport.close();
        await assert.rejects(
          transport.request({ ...get('/x'), method: 'POST', body: '{}' }),
          (error) => error instanceof TransportError && !error.possiblySent,
        );
      },
    );
  });
}
