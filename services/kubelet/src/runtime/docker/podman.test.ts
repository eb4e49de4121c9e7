import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { containerConfig, sandboxConfig } from '../contract.ts';
import { createDockerRuntime } from './docker-runtime.ts';
import { containerLabels, sandboxLabels } from './labels.ts';
import { isGroupOf } from './local-processes.ts';
import { containerRequest } from './requests.ts';
import { sharesProcesses } from './store.ts';

/** What Podman 4.3.1 answered, without what is not used. */
const VERSION = {
  Components: [{ Name: 'Podman Engine', Version: '4.3.1' }],
  Version: '4.3.1',
  ApiVersion: '1.41',
  MinAPIVersion: '1.24',
};
const REFUSED_START = {
  cause: 'OCI runtime attempted to invoke a command that was not found',
  message: 'runc: runc create failed: exec: "/bin/nothing": stat /bin/nothing: no such file or directory',
  response: 500,
};
const WRONG_STATE = {
  cause: 'container state improper',
  message: 'can only create exec sessions on running containers: container state improper',
  response: 500,
};
const CREATED = {
  Status: 'created',
  Running: false,
  OOMKilled: false,
  Pid: 0,
  ExitCode: 0,
  Error: '',
  StartedAt: '0001-01-01T00:00:00Z',
  FinishedAt: '0001-01-01T00:00:00Z',
};

type Answer = readonly [status: number, body: object];

async function podman(t: TestContext, answers: (request: string) => Answer | undefined): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-podman-'));
  const socket = path.join(folder, 'podman.sock');
  const server = createServer(({ method, url = '' }, response) => {
    const route = `${method} ${url.replace(/^\/v[\d.]+/, '').replace(/\?.*/, '')}`;
    const [status, body] = answers(route) ?? [404, { cause: 'no such container', message: route, response: 404 }];
    response.writeHead(status).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return socket;
}

/** A node whose one container cannot be started, at Podman's socket. */
async function nodeOf(t: TestContext) {
  const stateDirectory = mkdtempSync(path.join(tmpdir(), 'holdfast-podman-state-'));
  const owner = { node: 'n1', stateDirectory };
  const sandbox = sandboxConfig('u1');
  const found = (Id: string, Labels: object, State: object) => ({
    Id,
    Created: '2026-11-25T07:32:14.104490829Z',
    Image: 'sha256:1',
    State,
    Config: { Labels, Tty: false, OpenStdin: false, StopSignal: '15' },
    HostConfig: { PidMode: 'private', NetworkMode: 'bridge' },
    NetworkSettings: {},
  });
  const box = found('box', sandboxLabels(owner, sandbox), { ...CREATED, Status: 'running', Running: true });
  const labels = containerLabels(owner, { id: 'box', sandbox }, { name: 'main', image: 'busybox', restartCount: 0 });
  const container = found('c', labels, CREATED);
  const listed = [box, container].map(({ Id, State, Config: { Labels } }) => ({ Id, State: State, Labels }));
  const answers = new Map<string, Answer>([
    ['GET /version', [200, VERSION]],
    ['GET /containers/box/json', [200, box]],
    ['GET /containers/c/json', [200, container]],
    ['GET /containers/json', [200, listed.map((each) => ({ ...each, State: 'created' }))]],
    ['POST /containers/c/start', [500, REFUSED_START]],
    ['POST /containers/c/exec', [500, WRONG_STATE]],
  ]);
  const runtime = createDockerRuntime({
    endpoint: `unix://${await podman(t, (route) => answers.get(route))}`,
    stateDirectory,
    nodeName: owner.node,
    nodeAddress: () => '192.0.2.7',
    clock: createVirtualClock(),
    log: createSilentLog(),
  });
  t.after(async () => {
    await runtime.close();
    rmSync(stateDirectory, { recursive: true, force: true });
  });
  return runtime;
}

test('a container that Podman could not start, and left as created without a reason, has ended with the reason', async (t) => {
  const runtime = await nodeOf(t);
  await runtime.startContainer('c');
  const [sandbox] = await runtime.list();
  const [container] = sandbox?.containers ?? [];
  assert.deepEqual(
    [container?.state, container?.exitCode, container?.reason, container?.message],
    ['exited', 128, 'StartError', REFUSED_START.message],
  );
});

test('the wrong state of a container, which Podman answers as 500 with a cause, is no fault of the engine', async (t) => {
  const runtime = await nodeOf(t);
  await assert.rejects(runtime.exec('c', ['/bin/true'], 1_000), { code: 'IllegalState', message: WRONG_STATE.message });
});

test('Podman must be asked for the name of the pod; Docker would refuse the question', () => {
  const place = { owner: { node: 'n1', stateDirectory: '/s' }, seccompProfile: () => '{}', oomScoreMin: 0 };
  const of = { id: 'box', sandbox: sandboxConfig('u1') };
  const modeOf = (isPodman: boolean): string | undefined =>
    containerRequest(containerConfig(['a']), of, { ...place, isPodman }).HostConfig.UTSMode;
  assert.deepEqual([modeOf(true), modeOf(false)], ['container:box', undefined]);
});

test('"private" is a process namespace of its own, as Podman writes it', () => {
  const shares = (PidMode: string): boolean =>
    sharesProcesses({ HostConfig: { PidMode } } as unknown as Parameters<typeof sharesProcesses>[0]);
  assert.deepEqual(['', 'private', 'host', 'container:box'].map(shares), [false, false, true, true]);
});

test("Podman's monitor of a container is none of its processes", () => {
  assert.equal(isGroupOf('4:memory:/libpod_parent/libpod-c1\n', 'c1'), true);
  assert.equal(isGroupOf('0::/machine.slice/libpod-c1.scope/container\n', 'c1'), true);
  assert.equal(isGroupOf('0::/machine.slice/libpod-conmon-c1.scope\n', 'c1'), false);
});
