import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { probeContainerRuntime } from './container-runtimes.ts';
import { RuntimeError } from './port.ts';

async function engine(t: TestContext, answer: object | undefined): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-engine-'));
  const socket = path.join(folder, 'engine.sock');
  const server = createServer((_request, response) => {
    if (answer !== undefined) response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return `unix://${socket}`;
}

test('the version of an engine tells Docker from Podman', async (t) => {
  const versions = { ApiVersion: '1.44', MinAPIVersion: '1.24', Arch: 'amd64' };
  const docker = await engine(t, { ...versions, Version: '26.1.0' });
  const podman = await engine(t, { ...versions, Version: '5.0.0', Components: [{ Name: 'Podman Engine' }] });
  // Its time stands still: a busy machine answers late.
  const clock = createVirtualClock();
  assert.equal(await probeContainerRuntime('docker', docker, clock), 'docker://26.1.0');
  assert.equal(await probeContainerRuntime('docker', podman, clock), 'podman://5.0.0');
});

test('a socket that is absent or silent is no runtime, soon', async (t) => {
  const clock = createSystemClock();
  const silent = await engine(t, undefined);
  await assert.rejects(probeContainerRuntime('docker', silent, clock), RuntimeError);
  for (const kind of ['docker', 'cri'] as const)
    await assert.rejects(probeContainerRuntime(kind, 'unix:///nothing/is/here.sock', clock), RuntimeError);
});
