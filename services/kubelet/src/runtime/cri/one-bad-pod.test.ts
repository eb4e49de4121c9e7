import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { sandboxConfig } from '../contract.ts';
import { RuntimeError, type RuntimeErrorCode } from '../port.ts';
import type { CriConnection } from './connection.ts';
import { CriContainers } from './containers.ts';
import { ContainerState, PodSandboxState } from './generated/cri_pb.js';
import { containerLabels, POD_UID_LABEL, sandboxAnnotations, sandboxLabels } from './labels.ts';
import { CriSandboxes } from './sandboxes.ts';
import { CriStore } from './store.ts';

type Calls = Readonly<Record<string, (request: never) => unknown>>;

/** A runtime with the pods `u1` and `u2`, one container each; `faults` names what it answers to which call for which id. */
function world(faults: Readonly<Record<string, RuntimeErrorCode>>, exited = false) {
  const clock = createVirtualClock();
  const called: string[] = [];
  const uids = ['u1', 'u2'];
  const answer = <T>(method: string, id: string, value: T): Promise<T> => {
    called.push(`${method} ${id}`);
    const code = faults[`${method} ${id}`];
    return code === undefined ? Promise.resolve(value) : Promise.reject(new RuntimeError(code, `${method} failed`));
  };
  const sandbox = (uid: string) => ({
    id: `s-${uid}`,
    metadata: { uid, name: uid, namespace: 'default', attempt: 0 },
    state: PodSandboxState.SANDBOX_READY,
    createdAt: 1_000_000n,
    labels: sandboxLabels('n1', sandboxConfig(uid)),
    annotations: sandboxAnnotations(sandboxConfig(uid)),
    network: { ip: `10.0.0.${uid.slice(1)}`, additionalIps: [] },
  });
  const container = (uid: string) => ({
    id: `c-${uid}`,
    podSandboxId: `s-${uid}`,
    metadata: { name: 'main', attempt: 0 },
    image: { image: 'i' },
    imageRef: '',
    state: exited ? ContainerState.CONTAINER_EXITED : ContainerState.CONTAINER_RUNNING,
    createdAt: 2_000_000n,
    startedAt: 3_000_000n,
    finishedAt: 4_000_000n,
    exitCode: 0,
    reason: '',
    message: '',
    logPath: '',
    labels: containerLabels('n1', sandboxConfig(uid), 'main'),
    annotations: {},
  });
  const selected = (labels: Readonly<Record<string, string>> = {}): readonly string[] =>
    uids.filter((uid) => (labels[POD_UID_LABEL] ?? uid) === uid);
  const uidOf = (id: string): string => id.slice(2);
  interface Filter {
    readonly filter: { readonly labelSelector?: Readonly<Record<string, string>>; readonly podSandboxId?: string };
  }
  const runtime: Calls = {
    listPodSandbox: ({ filter }: Filter) =>
      answer('list', 'sandboxes', { items: selected(filter.labelSelector).map(sandbox) }),
    listContainers: ({ filter }: Filter) => {
      const own = selected(filter.labelSelector).map(container);
      const containers = own.filter(({ podSandboxId }) => (filter.podSandboxId ?? podSandboxId) === podSandboxId);
      return answer('list', 'containers', { containers });
    },
    podSandboxStatus: ({ podSandboxId: id }: { podSandboxId: string }) =>
      answer('podSandboxStatus', id, { status: sandbox(uidOf(id)) }),
    containerStatus: ({ containerId: id }: { containerId: string }) =>
      answer('containerStatus', id, { status: container(uidOf(id)) }),
    removeContainer: ({ containerId: id }: { containerId: string }) => answer('removeContainer', id, {}),
    stopPodSandbox: ({ podSandboxId: id }: { podSandboxId: string }) => answer('stopPodSandbox', id, {}),
    removePodSandbox: ({ podSandboxId: id }: { podSandboxId: string }) => answer('removePodSandbox', id, {}),
  };
  const connection = {
    closed: new AbortController().signal,
    call: async (_limits: unknown, work: (clients: unknown, options: unknown) => Promise<unknown>) =>
      work({ runtime }, {}),
  } as unknown as CriConnection;
  const volumesPath = (uid: string): string => `/volumes/${uid}`;
  const log = createSilentLog();
  const store = new CriStore({ connection, clock, log, node: 'n1', nodeAddress: () => '192.0.2.1', volumesPath });
  const files = { remove: () => undefined } as never;
  const containers = new CriContainers({ connection, store, files, clock, node: 'n1' });
  const sandboxes = new CriSandboxes({ connection, store, containers, files, node: 'n1' });
  return { store, containers, sandboxes, called };
}

for (const fault of ['podSandboxStatus s-u1', 'containerStatus c-u1'] as const) {
  test(`[SAFE-32] a pod whose ${fault.split(' ')[0]} fails does not hide the others, and is not treated as gone`, async () => {
    for (const code of ['Internal', 'Unavailable', 'Timeout'] as const) {
      const { store } = world({ [fault]: code });
      const all = await store.list(undefined);
      assert.deepEqual(
        all.map(({ config, containers }) => [
          config.podUid,
          config.podName,
          containers.map(({ id, state }) => `${id} ${state}`),
        ]),
        [
          ['u1', sandboxConfig('u1').podName, ['c-u1 running']],
          ['u2', sandboxConfig('u2').podName, ['c-u2 running']],
        ],
      );
      assert.equal((await store.list('u2'))[0]?.ip, '10.0.0.2');
      await assert.rejects(store.list('u1'), { code }, 'the pod itself waits until the runtime tells');
    }
  });
}

test('an ended container counts as running in the full list while the runtime does not return its exit state', async () => {
  const { store } = world({ 'containerStatus c-u1': 'Internal' }, true);
  assert.deepEqual(
    (await store.list(undefined)).flatMap(({ containers }) => containers.map(({ state }) => state)),
    ['running', 'exited'],
  );
});

test('a runtime that cannot list is an error of the whole node', async () => {
  await assert.rejects(world({ 'list containers': 'Unavailable' }).store.list(undefined), { code: 'Unavailable' });
});

test('removal of an absent object succeeds', async () => {
  const { containers, sandboxes, called } = world(
    {
      'removeContainer c-u1': 'NotFound',
      'stopPodSandbox s-u1': 'NotFound',
      'removePodSandbox s-u1': 'NotFound',
      'removeContainer c-u2': 'Internal',
    },
    true,
  );
  await containers.remove('c-u1');
  await sandboxes.remove('s-u1');
  assert.ok(called.includes('removePodSandbox s-u1'));
  await assert.rejects(containers.remove('c-u2'), { code: 'Internal' });
});
