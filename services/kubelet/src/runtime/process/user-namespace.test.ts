import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { makeEmptyDirectory, writeVolume } from '../../adapters/volume-directory.ts';
import { USER_RANGE_LENGTH, userRangePool } from '../../domain/user-ranges.ts';
import { ownerOf } from '../../domain/volume-owner.ts';
import { containerConfig, containerOf, eventually, exited, sandboxConfig } from '../contract.ts';
import type { ContainerConfig } from '../port.ts';
import { createProcessRuntime, type ProcessRuntime } from './index.ts';
import { createProcessTable, readProcess } from './process-table.ts';
import { idMap } from './user-namespace.ts';
import { userNamespaceRefusal } from './user-namespace-trial.ts';

const range = { firstId: userRangePool().firstId + 3 * USER_RANGE_LENGTH, length: USER_RANGE_LENGTH };

interface Node {
  readonly runtime: ProcessRuntime;
  /** Resolves with the output of a command of the pod after its success. */
  run(script: string, change?: Partial<ContainerConfig>): Promise<string>;
  /** Resolves with the id of a container that has printed "ready". */
  start(script: string, change?: Partial<ContainerConfig>): Promise<string>;
  /** A directory of the pod's volumes. */
  directory(name: string): Promise<string>;
}

/** On a machine without user namespaces only the refusal is tested, and the test counts as skipped. */
function testUsers(title: string, body: (node: Node) => Promise<void>): void {
  test(title, async (t) => {
    const refusal = userNamespaceRefusal();
    if (refusal === undefined) {
      await body(await createNode(t));
    } else {
      assert.match(refusal, /^user namespaces \(hostUsers: false\)/);
      t.skip(refusal);
    }
  });
}

async function createNode(t: TestContext): Promise<Node> {
  const stateDirectory = mkdtempSync(join(tmpdir(), 'holdfast-users-'));
  const clock = createSystemClock();
  const runtime = createProcessRuntime({
    stateDirectory,
    clock,
    log: createSilentLog(),
    nodeAddress: () => '192.0.2.7',
  });
  t.after(async () => {
    await runtime.shutdown(0);
    await runtime.close();
    rmSync(stateDirectory, { recursive: true, force: true });
  });
  const sandbox = await runtime.runSandbox({ ...sandboxConfig('u1'), userRange: range });
  let count = 0;
  const create = async (script: string, change: Partial<ContainerConfig> = {}): Promise<string> => {
    const config = containerConfig(['/bin/sh', '-c', script], { ...change, name: `c${count++}` });
    const id = await runtime.createContainer(sandbox, config);
    await runtime.startContainer(id);
    return id;
  };
  const outputOf = async (id: string): Promise<string> =>
    readFileSync((await containerOf(runtime, id)).logPath ?? '', 'utf8').trim();
  return {
    runtime,
    run: async (script, change) => {
      const id = await create(script, change);
      const { exitCode, message = '' } = await exited(runtime, id);
      const output = await outputOf(id);
      assert.equal(exitCode, 0, `${message} ${output}`);
      return output;
    },
    start: async (script, change) => {
      const id = await create(script, change);
      await eventually(async () => (await outputOf(id)).includes('ready'), 'the container says ready');
      return id;
    },
    directory: async (name) => {
      const path = join((await runtime.list())[0]?.volumesPath ?? assert.fail('the runtime keeps volumes'), name);
      mkdirSync(path, { recursive: true });
      return path;
    },
  };
}

const OVERFLOW = Number(readFileSync('/proc/sys/kernel/overflowuid', 'utf8'));

/** Real uid and gid of the first process outside of the namespace. */
function idsOutside(pid: number): readonly (number | undefined)[] {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return ['Uid', 'Gid'].map((field) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]));
}

const pidOf = (script: string): number => {
  const found = /leader=(\d+)/.exec(script)?.[1];
  assert.ok(found !== undefined, 'the container says its process number');
  return Number(found);
};

test('[USERNS-05] [USERNS-09] the id map is one line: all ids inside, none of the machine itself', () => {
  assert.equal(idMap(range), `0 ${range.firstId} 65536`);
});

testUsers('[USERNS-09] root inside is an unprivileged user of the machine, whatever it may do inside', async (node) => {
  const id = await node.start('echo "leader=$$ ready"; exec sleep 600');
  const inside = await node.runtime.exec(id, ['/bin/sh', '-c', 'id -u; id -g; id -G; cat /proc/self/uid_map'], 10_000);
  assert.deepEqual(inside.output.trim().split(/\s+/), ['0', '0', '0', '0', `${range.firstId}`, '65536']);
  const log = readFileSync((await containerOf(node.runtime, id)).logPath ?? '', 'utf8');
  assert.deepEqual(idsOutside(pidOf(log)), [range.firstId, range.firstId]);
  await node.runtime.stopContainer(id, 0);
  assert.notEqual(readProcess(pidOf(log))?.zombie, false, 'it ends like every container');
});

testUsers('[USERNS-09] capabilities count inside only: the machine is not changed with them', async (node) => {
  const script = [
    'grep -q "CapEff:.*ffff" /proc/self/status && echo all capabilities',
    'chown 5:5 "$HOME" && echo changes owners inside',
    '(mount -t tmpfs none /mnt) 2>/dev/null || echo does not mount',
    '(echo other > /proc/sys/kernel/domainname) 2>/dev/null || echo does not set the machine',
    '(kill -0 $PPID || kill -0 1) 2>/dev/null || echo does not reach processes',
  ];
  assert.deepEqual((await node.run(`cd /; ${script.join('; ')}; true`)).split('\n'), [
    'all capabilities',
    'changes owners inside',
    'does not mount',
    'does not set the machine',
    'does not reach processes',
  ]);
});

testUsers('[USERNS-03] the ids that a container names are ids inside', async (node) => {
  const user = { uid: 1_000, gid: 2_000, groups: [3_000] };
  const volume = join(await node.directory('volumes'), 'data');
  await makeEmptyDirectory(volume, ownerOf(podOf(3_000), { mounts: true, user: 'any' }, range));
  const mounts = [{ source: volume, target: '/data', readOnly: false }];
  const said = await node.run('id -u; id -g; id -G; touch /data/mine; stat -c "%u %g" /data/mine', { user, mounts });
  assert.deepEqual(said.split('\n'), ['1000', '2000', '2000 3000', '1000 3000']);
  const { uid, gid } = statSync(join(volume, 'mine'));
  assert.deepEqual([uid, gid], [range.firstId + 1_000, range.firstId + 3_000]);
});

testUsers('[USERNS-04] the last id inside is 65535, for processes and for files', async (node) => {
  const volume = join(await node.directory('volumes'), 'data');
  await makeEmptyDirectory(volume, ownerOf(podOf(), { mounts: true, user: 'any' }, range));
  const mounts = [{ source: volume, target: '/data', readOnly: false }];
  const script = [
    'touch /data/last && chown 65535:65535 /data/last && stat -c %u /data/last',
    'chown 65536 /data/last 2>/dev/null || echo no file of 65536',
    'setpriv --reuid 65535 --clear-groups id -u',
    'setpriv --reuid 65536 --clear-groups id -u 2>/dev/null || echo no process of 65536',
  ];
  assert.deepEqual((await node.run(script.join('; '), { mounts })).split('\n'), [
    '65535',
    'no file of 65536',
    '65535',
    'no process of 65536',
  ]);
});

testUsers(
  "[USERNS-05] files of the machine's users show the overflow id, and nobody inside may change them",
  async (node) => {
    const foreign = await node.directory('foreign');
    await writeVolume(foreign, new Map([['file', { bytes: Buffer.from('x'), mode: 0o644 }]]));
    const mounts = [{ source: foreign, target: '/foreign', readOnly: false }];
    const script = [
      'stat -L -c "%u %g" /foreign/file /etc/passwd',
      'echo y 2>/dev/null > /foreign/file || echo root cannot write',
      `setpriv --reuid ${OVERFLOW} --regid ${OVERFLOW} --clear-groups sh -c "echo y > /foreign/file" 2>/dev/null || echo the overflow user cannot write`,
      'chown 0 /foreign/file 2>/dev/null || echo root cannot take it',
      'cat /foreign/file',
    ];
    assert.deepEqual((await node.run(script.join('; '), { mounts })).split('\n'), [
      `${OVERFLOW} ${OVERFLOW}`,
      `${OVERFLOW} ${OVERFLOW}`,
      'root cannot write',
      'the overflow user cannot write',
      'root cannot take it',
      'x',
    ]);
  },
);

testUsers(
  "[USERNS-07] files that the node makes for the pod belong to the pod's root, also private ones",
  async (node) => {
    const secret = await node.directory('secret');
    const owner = ownerOf(podOf(), { mounts: true, user: 'any' }, range);
    await writeVolume(secret, new Map([['key', { bytes: Buffer.from('hidden'), mode: 0o400 }]]), { owner });
    const mounts = [{ source: secret, target: '/secret', readOnly: true }];
    const script =
      'cat /secret/key; echo; stat -L -c "%u %a" /secret/key; pwd; echo kept > own; stat -c %u own; echo "$HOME"';
    assert.deepEqual((await node.run(script, { mounts })).split('\n'), [
      'hidden',
      '0 400',
      '/holdfast',
      '0',
      '/holdfast',
    ]);
  },
);

testUsers('a terminal and a command beside a container are in its users, too', async (node) => {
  const id = await node.start('echo ready; exec sleep 600', { tty: true, user: { uid: 7, gid: 8 } });
  const beside = await node.runtime.exec(id, ['/bin/sh', '-c', 'id -u; id -g; pwd; touch here && echo wrote'], 10_000);
  assert.deepEqual(beside.output.trim().split('\n'), ['7', '8', '/holdfast', 'wrote']);
  await node.runtime.stopContainer(id, 0);
});

testUsers('nothing of a start outlives a container that is killed in the middle of it', async (node) => {
  const { runtime } = node;
  const [sandbox] = await runtime.list();
  const ids: string[] = [];
  for (let count = 0; count < 5; count++) {
    const config = containerConfig(['/bin/sleep', '600'], { name: `killed-${count}` });
    const id = await runtime.createContainer(sandbox?.id ?? '', config);
    const started = runtime.startContainer(id).catch(() => undefined);
    await runtime.stopContainer(id, 0);
    await started;
    ids.push(id);
  }
  await eventually(async () => {
    const left = createProcessTable()
      .scan()
      .filter(({ marker }) => marker !== undefined && ids.includes(marker));
    return left.length === 0;
  }, 'no process of these containers is left');
});

testUsers('a failed start is reported as without user namespaces', async (node) => {
  const { runtime } = node;
  const [sandbox] = await runtime.list();
  const config = containerConfig(['no-such-program'], { name: 'wrong' });
  const id = await runtime.createContainer(sandbox?.id ?? '', config);
  await runtime.startContainer(id);
  const { exitCode, message } = await exited(runtime, id);
  assert.deepEqual([exitCode, message], [128, 'exec: "no-such-program": executable file not found in $PATH']);
});

const podOf = (fsGroup?: number) => ({
  apiVersion: 'v1' as const,
  kind: 'Pod' as const,
  metadata: {},
  spec: { containers: [], hostUsers: false, ...(fsGroup === undefined ? {} : { securityContext: { fsGroup } }) },
  status: {},
});
