import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { containerConfig, containerOf, eventually, exited, sandboxConfig } from '../contract.ts';
import type { ContainerConfig, Mount } from '../port.ts';
import { isRoot } from './become.ts';
import { createProcessRuntime, type ProcessRuntime } from './index.ts';

/** Without root every pod runs as the user of the node: there is no other user to switch to. */
const POD_USER = isRoot()
  ? { uid: 61_001, gid: 61_002 }
  : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

interface Node {
  readonly runtime: ProcessRuntime;
  /** Beside the node's own directory: keys of the server, for example. */
  readonly secrets: string;
  /** A directory of the pod's volumes that the pod may write. */
  volume(name: string): string;
  /** Everybody may write here, inside and outside. */
  readonly traces: string;
  start(script: string, change?: Partial<ContainerConfig>): Promise<string>;
  /** Resolves with the container's output after its end. */
  run(script: string, change?: Partial<ContainerConfig>): Promise<string>;
}

async function createNode(t: TestContext): Promise<Node> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-hostile-'));
  chmodSync(directory, 0o755);
  const [stateDirectory, secrets] = [join(directory, 'state'), join(directory, 'secrets')];
  mkdirSync(secrets);
  writeFileSync(join(secrets, 'ca.key'), 'the key', { mode: 0o644 });
  const clock = createSystemClock();
  const options = { stateDirectory, clock, log: createSilentLog(), nodeAddress: () => '192.0.2.7', hidden: [secrets] };
  const runtime = createProcessRuntime(options);
  assert.ok(runtime.abilities?.mounts, 'needs unshare, setpriv and mount (util-linux), and the right to use them');
  t.after(async () => {
    await runtime.shutdown(0);
    rmSync(directory, { recursive: true, force: true });
  });
  const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
  const volumes = (await runtime.list())[0]?.volumesPath ?? assert.fail('the runtime keeps volumes');
  let count = 0;
  const volume = (name: string): string => {
    const path = join(volumes, name);
    mkdirSync(path, { recursive: true });
    chmodSync(path, 0o777);
    return path;
  };
  const start = async (script: string, change: Partial<ContainerConfig> = {}): Promise<string> => {
    const mounts = [{ source: volume('any'), target: '/any', readOnly: false }, ...(change.mounts ?? [])];
    const own = { ...change, mounts, user: POD_USER, name: `c${count++}` };
    const id = await runtime.createContainer(sandbox, containerConfig(['/bin/sh', '-c', script], own));
    await runtime.startContainer(id);
    return id;
  };
  const outputOf = async (id: string): Promise<string> =>
    readFileSync((await containerOf(runtime, id)).logPath ?? '', 'utf8').trim();
  const run = async (script: string, change?: Partial<ContainerConfig>): Promise<string> => {
    const id = await start(script, change);
    const { exitCode, message = '' } = await exited(runtime, id);
    const output = await outputOf(id);
    assert.equal(exitCode, 0, `${message} ${output}`);
    return output;
  };
  return { runtime, secrets, traces: createTraces(t), volume, start, run };
}

function createTraces(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-traces-'));
  chmodSync(path, 0o777);
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Programs with the names of those that set up a container. Each records its user and then runs the real one. */
function plantPrograms(volume: string, traces: string): void {
  for (const name of [
    'unshare',
    'nsenter',
    'sh',
    'mount',
    'chroot',
    'setpriv',
    'script',
    'stty',
    'hostname',
    'env',
    'id',
    'readlink',
  ])
    writeFileSync(
      join(volume, name),
      `#!/bin/dash\n/usr/bin/id -u >> ${traces}/by-path\nexec /usr/bin/${name} "$@"\n`,
      { mode: 0o755 },
    );
}

/** Only what runs as the pod may have run its programs. */
function assertNobodyElse(traces: string, file: string): void {
  const path = join(traces, file);
  const users = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  assert.deepEqual(
    users.filter((uid) => uid !== '' && uid !== String(POD_USER.uid)),
    [],
    'programs of the pod ran as somebody else',
  );
}

/** Probes and hooks, exec, exec on a terminal. */
const besides: readonly ((node: Node, id: string) => Promise<unknown>)[] = [
  ({ runtime }, id) => runtime.exec(id, ['/bin/true'], 5_000),
  ({ runtime }, id) => openAndEnd(runtime, id, false),
  ({ runtime }, id) => openAndEnd(runtime, id, true),
];

async function openAndEnd(runtime: ProcessRuntime, id: string, tty: boolean): Promise<void> {
  const request = { command: ['/bin/true'], stdin: false, stdout: true, stderr: false, tty };
  const streams = await runtime.streams?.exec(id, request);
  streams?.stdout?.resume();
  assert.deepEqual(await streams?.ended, { exitCode: 0 });
}

test('a search path of the container finds its commands, not the setup programs, at start and for exec', async (t) => {
  const node = await createNode(t);
  const { traces } = node;
  const bin = join(traces, 'bin');
  mkdirSync(bin);
  plantPrograms(bin, traces);
  for (const tty of [false, true]) {
    const id = await node.start('id; sleep 600', { tty, env: { PATH: `${bin}:/usr/bin:/bin` } });
    for (const use of besides) await use(node, id);
  }
  const byPod = (): boolean => readFileSync(join(traces, 'by-path'), 'utf8').includes(String(POD_USER.uid));
  await eventually(() => existsSync(join(traces, 'by-path')) && byPod(), 'its own commands are found there');
  assertNobodyElse(traces, 'by-path');
});

test('loader variables of a container affect only its own processes', async (t) => {
  const node = await createNode(t);
  const { traces } = node;
  // As with LD_PRELOAD, but here the loader itself writes a file as its user.
  const id = await node.start('sleep 600', { env: { LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: join(traces, 'loaded') } });
  for (const use of besides) await use(node, id);
  await node.runtime.stopContainer(id, 0);
  const owners = readdirSync(traces).map((name) => statSync(join(traces, name)).uid);
  assert.deepEqual([...new Set(owners)], [POD_USER.uid]);
});

test('programs and libraries that the container mounts over those of the machine never run as root', async (t) => {
  const node = await createNode(t);
  const [bin, traces] = [node.volume('bin'), node.volume('traces')];
  execFileSync('cp', ['-a', '/usr/bin/.', bin]);
  for (const name of ['sh', 'setpriv', 'chroot', 'env']) rmSync(join(bin, name), { force: true });
  const own = `#!/bin/bash\n/usr/bin/id -u >> /traces/by-mount\nexec /bin/bash "$@"\n`;
  writeFileSync(join(bin, 'sh'), own, { mode: 0o755 });
  writeFileSync(join(bin, 'setpriv'), own, { mode: 0o755 });
  writeFileSync(join(bin, 'chroot'), own, { mode: 0o755 });
  const mounts: Mount[] = [
    { source: bin, target: '/usr/bin', readOnly: false },
    { source: traces, target: '/traces', readOnly: false },
  ];
  const id = await node.start('sleep 600', { mounts });
  for (const use of besides) await use(node, id);
  await node.runtime.stopContainer(id, 0);
  assertNobodyElse(traces, 'by-mount');
});

test('variable names that no shell can set, and those that shells keep, reach the command unchanged', async (t) => {
  const node = await createNode(t);
  const env = {
    'my.key-1': 'dots and\nlines',
    UID: '77',
    IFS: 'x',
    OPTIND: 'words',
    HOLDFAST_CARRIED_0: 'own',
    holdfast_i: '5',
    QUOTED: `a'b"c$(id)\`id\``,
    EMPTY: '',
  };
  const program = [process.execPath, '-e', 'process.stdout.write(JSON.stringify(process.env))'] as const;
  const [sandbox] = await node.runtime.list();
  const mounts = [{ source: node.volume('any'), target: '/any', readOnly: false }];
  const config = containerConfig([...program], { env, mounts, user: POD_USER, name: 'direct' });
  const id = await node.runtime.createContainer(sandbox?.id ?? '', config);
  await node.runtime.startContainer(id);
  await exited(node.runtime, id);
  const seen = JSON.parse(readFileSync((await containerOf(node.runtime, id)).logPath ?? '', 'utf8'));
  const { PATH: _path, HOME, HOSTNAME: _name, HOLDFAST_CONTAINER_ID: _id, PWD: _pwd, OLDPWD: _old, ...rest } = seen;
  assert.deepEqual([rest, HOME], [env, '/holdfast']);
});

test('a pod cannot see the directories of the node and the server, nor bypass the masking mounts', async (t) => {
  const node = await createNode(t);
  const state = join(node.secrets, '../state');
  const seen = await node.run(
    [
      `cat ${node.secrets}/ca.key 2>/dev/null || echo no key`,
      `ls -A ${node.secrets} ${state} | grep -v : | grep . || echo nothing`,
      `cat /proc/1/environ 2>/dev/null || echo no environment`,
      'ls /proc/1/fd/ 2>/dev/null || echo no descriptors',
      `ls /proc/self/fd | tr '\\n' ' '; echo`,
      'umask',
      "unshare -Urm /bin/sh -c 'umount /any 2>/dev/null; exec chroot .' 2>/dev/null < /dev/null; true",
    ].join('; '),
  );
  const lines = seen.split('\n');
  assert.deepEqual(lines.slice(0, 4), ['no key', 'nothing', 'no environment', 'no descriptors']);
  // The three of the shell, and the one that `ls` reads.
  assert.deepEqual(lines.slice(4, 6), ['0 1 2 3 ', '0022']);
});

test('a process that escapes its root directory in a user namespace finds nothing that its user may not read', async (t) => {
  const node = await createNode(t);
  // The namespace grants the right to change the root directory, and so to leave it.
  const escape = [
    'chdir "/any"; mkdir "trap"; chroot "trap" or exit 1;',
    'chdir ".." for 1 .. 64; chroot "." or exit 1;',
    `print -e "${node.secrets}/ca.key" ? "key" : -d "/any" ? "inside" : "veiled"`,
  ].join(' ');
  const seen = await node.run(`unshare --user --map-root-user perl -e '${escape}' 2>/dev/null || echo refused`);
  assert.match(seen, /^(?:veiled|refused)$/);
});

test('a command cannot gain privileges: no setuid programs, no capabilities', async (t) => {
  const node = await createNode(t);
  const seen = await node.run('grep -E "^(NoNewPrivs|CapEff|CapPrm|CapInh|CapAmb)" /proc/self/status | tr -d "\\t"');
  const none = '0'.repeat(16);
  assert.deepEqual(seen.split('\n'), [
    `CapInh:${none}`,
    `CapPrm:${none}`,
    `CapEff:${none}`,
    `CapAmb:${none}`,
    'NoNewPrivs:1',
  ]);
  const id = await node.start('sleep 600');
  const beside = await node.runtime.exec(
    id,
    ['/bin/sh', '-c', 'grep NoNewPrivs /proc/self/status | tr -d "\\t"'],
    5_000,
  );
  assert.equal(beside.output, 'NoNewPrivs:1\n');
});

test('a link left by the pod at a nested mount point leads nowhere', async (t) => {
  const node = await createNode(t);
  const [outer, inner] = [node.volume('outer'), node.volume('inner')];
  writeFileSync(join(inner, 'file'), 'inner');
  const victim = join(node.secrets, 'victim');
  symlinkSync(victim, join(outer, 'made'));
  symlinkSync('/usr/sbin', join(outer, 'sbin'));
  const attempts: readonly Mount[] = [
    { source: inner, target: '/outer/made/deep', readOnly: false },
    { source: inner, target: '/outer/sbin', readOnly: false },
    { source: join(inner, 'file'), target: '/outer/made', readOnly: false },
  ];
  for (const attempt of attempts) {
    const mounts = [{ source: outer, target: '/outer', readOnly: false }, attempt];
    const id = await node.start('true', { mounts }).catch((error: unknown) => error);
    if (typeof id === 'string') assert.equal((await exited(node.runtime, id)).exitCode, 128);
    assert.equal(existsSync(victim), false);
  }
  const plain = [
    { source: outer, target: '/outer', readOnly: false },
    { source: inner, target: '/outer/dir/deep', readOnly: true },
    { source: join(inner, 'file'), target: '/outer/conf/file', readOnly: true },
  ];
  const script =
    'cat /outer/dir/deep/file /outer/conf/file; echo x > /outer/dir/deep/no || echo; touch /outer/own; ls -l /proc/self/fd | grep -c any';
  assert.match(await node.run(`${script}; true`, { mounts: plain }), /^innerinner.*Read-only.*\n\n0$/);
  assert.ok(existsSync(join(outer, 'own')));
});

test('a source in a tree that the pod writes is mounted as it was checked, or not at all', async (t) => {
  const node = await createNode(t);
  const tree = node.volume('tree');
  mkdirSync(join(tree, 'dir'));
  writeFileSync(join(tree, 'dir/file'), 'own');
  const show = (source: string) => [{ source: join(tree, source), within: tree, target: '/shown', readOnly: false }];
  assert.equal(await node.run('cat /shown/file', { mounts: show('dir') }), 'own');
  assert.equal(await node.run('cat /shown', { mounts: show('dir/file') }), 'own');
  const refusals: readonly (readonly [string, () => void])[] = [
    ['dir', () => symlinkSync(node.secrets, join(tree, 'dir'))],
    ['dir/file', () => symlinkSync(node.secrets, join(tree, 'dir'))],
    ['dir/ca.key', () => symlinkSync(node.secrets, join(tree, 'dir'))],
    [
      'dir/file',
      () => {
        mkdirSync(join(tree, 'dir'));
        symlinkSync(join(node.secrets, 'ca.key'), join(tree, 'dir/file'));
      },
    ],
  ];
  for (const [source, swap] of refusals) {
    rmSync(join(tree, 'dir'), { recursive: true, force: true });
    swap();
    const id = await node.start('cat /shown/* /shown', { mounts: show(source) }).catch((error: unknown) => error);
    if (typeof id !== 'string') continue;
    const { exitCode, message = '' } = await exited(node.runtime, id);
    assert.deepEqual([exitCode, /link leads away|ENOENT/.test(message)], [128, true], message);
  }
});

test('without mounts a pod has its own directory, and its user cannot access the rest', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-plain-'));
  chmodSync(directory, 0o755);
  const abilities = isRoot() ? ({ user: 'any', confines: true } as const) : { user: POD_USER };
  const runtime = createProcessRuntime({
    stateDirectory: join(directory, 'state'),
    clock: createSystemClock(),
    log: createSilentLog(),
    nodeAddress: () => '192.0.2.7',
    abilities: { mounts: false, ...abilities },
  });
  t.after(async () => {
    await runtime.shutdown(0);
    rmSync(directory, { recursive: true, force: true });
  });
  const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
  const script =
    'cd "$HOME" && pwd && touch own && id -u && ls ../.. 2>/dev/null; cat ../*.json ../../../isolation.json 2>/dev/null; true';
  const user = isRoot() ? { user: POD_USER } : {};
  for (const tty of [false, true]) {
    const config = containerConfig(['/bin/sh', '-c', script], { ...user, tty, name: `tty-${tty}` });
    const id = await runtime.createContainer(sandbox, config);
    await runtime.startContainer(id);
    const { exitCode, logPath = '' } = await exited(runtime, id);
    const [home = '', uid, ...rest] = readFileSync(logPath, 'utf8').trim().split(/\r?\n/);
    assert.deepEqual([exitCode, home.endsWith(`${id}.work`), uid], [0, true, String(POD_USER.uid)]);
    if (isRoot()) assert.deepEqual(rest, []);
  }
});

test('the reason of a failed container start is bounded', async (t) => {
  const node = await createNode(t);
  const id = await node.start('true', { workingDir: `/${'x/'.repeat(60_000)}` });
  const { message = '' } = await eventually(() => exited(node.runtime, id), 'it ends');
  assert.ok(message.length <= 16 * 1024, `${message.length}`);
});
