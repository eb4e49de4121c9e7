import assert from 'node:assert/strict';
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { runGrpc } from '../container/hooks.ts';
import { HOLLOW_PROBE_NETWORK } from '../container/probe-network.ts';
import type { ContainerRuntime } from '../runtime/port.ts';
import { createProbeNetwork } from './probe-network.ts';

const NEVER_USED = {} as ContainerRuntime;
const clock = createSystemClock();
const deps = { runtime: NEVER_USED, clock, network: createProbeNetwork(clock) };

type Answer = (stream: ServerHttp2Stream, asked: Buffer) => void;

async function withServer(answer: Answer, run: (port: number) => Promise<void>): Promise<void> {
  const server: Http2Server = createServer();
  server.on('stream', (stream, headers) => {
    assert.equal(headers[':path'], '/grpc.health.v1.Health/Check');
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', () => stream.destroy());
    stream.on('end', () => answer(stream, Buffer.concat(chunks)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  try {
    await run(address.port);
  } finally {
    server.close();
  }
}

const says =
  (status: number, seen?: (asked: Buffer) => void): Answer =>
  (stream, asked) => {
    seen?.(asked);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    const message = status === 0 ? [] : [0x08, status];
    stream.end(Buffer.from([0, 0, 0, 0, message.length, ...message]));
  };

const refuses: Answer = (stream) => {
  stream.respond({ ':status': 200, 'grpc-status': '12', 'grpc-message': 'unknown service' }, { endStream: true });
};

const probe = (port: number, service = '', timeoutMs = 30_000): Promise<void> =>
  runGrpc(deps, { port, service }, { id: '', podIp: '127.0.0.1', ports: [], timeoutMs });

test('[PROBE-04] a gRPC probe succeeds when the service reports SERVING, and names the service', async () => {
  const asked: string[] = [];
  await withServer(
    says(1, (bytes) => asked.push(bytes.toString('latin1'))),
    async (port) => {
      await probe(port, 'liveness');
      await probe(port);
    },
  );
  assert.deepEqual(asked, ['\0\0\0\0\x0a\x0a\x08liveness', '\0\0\0\0\0']);
});

test('[PROBE-04] a gRPC probe fails for every other status, an absent protocol, and silence', async () => {
  await withServer(says(2), async (port) => {
    await assert.rejects(probe(port), { message: 'service unhealthy (responded with "NOT_SERVING")' });
  });
  await withServer(says(0), async (port) => {
    await assert.rejects(probe(port), { message: 'service unhealthy (responded with "UNKNOWN")' });
  });
  await withServer(refuses, async (port) => {
    await assert.rejects(probe(port), /does not implement the grpc health protocol/);
  });
  await withServer(
    () => {},
    async (port) => {
      await assert.rejects(probe(port, '', 50), /^Error: timeout: health rpc did not complete within 0.05s$/);
    },
  );
});

test('[PROBE-04] a gRPC probe of a closed port fails', async () => {
  let free = 0;
  await withServer(says(1), async (port) => {
    free = port;
  });
  await assert.rejects(probe(free), /ECONNREFUSED/);
});

test('a hollow node reports everything healthy', async () => {
  const target = { id: '', podIp: '192.0.2.1', ports: [], timeoutMs: 1 };
  await runGrpc({ ...deps, network: HOLLOW_PROBE_NETWORK }, { port: 1 }, target);
});
