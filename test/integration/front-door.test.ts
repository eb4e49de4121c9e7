import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { natsUserName } from '@holdfast/bus/nats';
import { freePort } from '../support/free-port.ts';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { kubectl, tryKubectl } from '../support/kubectl.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { waitFor } from '../support/wait.ts';

const MAIN = path.resolve(import.meta.dirname, '../../services/holdfast/src/main.ts');
const EXIT_DEADLINE_MS = 30_000;

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
  readonly stdout: string;
}

/** Runs the start command until it ends by itself. */
function runStart(...flags: string[]): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, 'start', ...flags], {
      timeout: EXIT_DEADLINE_MS,
    });
    let stderr = '';
    let stdout = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stderr, stdout }));
  });
}

async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-door-'));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Two lines for an operator: what is wrong, and the next step. Never a stack. */
function assertOperatorError(ended: Ended, says: RegExp): void {
  assert.notEqual(ended.code, 0);
  assert.match(ended.stderr, says);
  assert.match(ended.stderr, /^holdfast: .+\n {2}\S.+\n$/s);
  assert.doesNotMatch(ended.stderr, /\n {4}at /);
}

test('an unknown flag is named', async () => {
  assertOperatorError(await runStart('--prot', '1'), /unknown option '--prot'/);
});

test('--help lists every flag with its variable and default', async () => {
  const { code, stdout } = await runStart('--help');
  assert.equal(code, 0);
  for (const words of ['--data-dir', 'HOLDFAST_PORT', 'default 6443', '--hollow-nodes', '--bus']) {
    assert.ok(stdout.includes(words), words);
  }
});

test('a port in use is reported, with the next step', async () => {
  await withFolder(async (folder) => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const address = taken.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    try {
      const ended = await runStart('--memory', '--port', String(port), '--data-dir', folder);
      assertOperatorError(
        ended,
        new RegExp(`cannot listen on 127.0.0.1:${port}.*Free the port or choose another one with --port`, 's'),
      );
    } finally {
      taken.close();
    }
  });
});

test('a data directory serves one instance at a time', async () => {
  await using first = await HoldfastProcess.start(['--nodes', '0']);
  assertOperatorError(
    await runStart('--port', '0', '--nodes', '0', '--data-dir', first.dataDir),
    /another instance is using it/,
  );
});

test('a data directory serves one instance at a time, also when its objects are in memory', async () => {
  await using first = await HoldfastProcess.start(['--nodes', '0', '--memory']);
  for (const store of [['--memory'], []]) {
    const ended = await runStart('--port', '0', '--nodes', '0', '--data-dir', first.dataDir, ...store);
    assertOperatorError(ended, /another instance is using it\n.*--data-dir/);
  }
});

test('a setting that is not an address is reported before anything starts', async () => {
  await withFolder(async (folder) => {
    const common = ['--port', '0', '--nodes', '1', '--memory', '--data-dir', folder];
    assertOperatorError(await runStart('--store', 'http://host', '--data-dir', folder), /--store takes redis:\/\//);
    assertOperatorError(await runStart('--bus', 'http://host', '--data-dir', folder), /--bus takes nats:\/\//);
    assertOperatorError(
      await runStart(...common, '--host', '198.51.100.7'),
      /cannot listen.*an address of this machine/s,
    );
    const runtime = await runStart(...common, '--container-runtime-endpoint', 'containerd');
    assertOperatorError(runtime, /"containerd" is not the socket.*unix:\/\//s);
  });
});

test('a corrupt data directory is refused and left unchanged', async () => {
  await withFolder(async (folder) => {
    const cluster = await HoldfastProcess.start(['--nodes', '0'], folder);
    await cluster.stop();
    writeFileSync(path.join(folder, 'store', 'store.sqlite'), 'this is no database'.repeat(1000));
    assertOperatorError(
      await runStart('--port', '0', '--data-dir', folder),
      /not a database|malformed|damaged|corrupt/i,
    );
  });
});

test('a data directory with unreadable or unwritable files is reported in two lines', async () => {
  for (const [spoil, says] of [
    [(folder: string) => mkdirSync(path.join(folder, 'tokens.csv')), /cannot be used: EISDIR.*in its place/s],
    [(folder: string) => writeFileSync(path.join(folder, 'pki'), ''), /cannot be used: ENOTDIR.*in its place/s],
    [(folder: string) => writeFileSync(path.join(folder, 'nodes'), ''), /cannot be used: ENOTDIR.*in its place/s],
    [(folder: string) => symlinkSync('/dev/full', path.join(folder, 'tokens.csv.new')), /ENOSPC.*Free some space/s],
  ] as const) {
    await withFolder(async (folder) => {
      spoil(folder);
      assertOperatorError(await runStart('--port', '0', '--data-dir', folder), says);
    });
  }
});

test('a Redis or a bus that does not answer is named, with the next step', async () => {
  await withFolder(async (folder) => {
    const port = String(await freePort());
    const common = ['--port', '0', '--nodes', '0', '--data-dir', folder];
    assertOperatorError(
      await runStart(...common, '--store', `redis://127.0.0.1:${port}`),
      new RegExp(`127.0.0.1:${port}`),
    );
    const bus = await runStart(...common, '--memory', '--bus', `nats://127.0.0.1:${port}`);
    assertOperatorError(bus, /event bus at nats:.*nats-server -js/s);
  });
});

test('the user of the bus address is used for a bus with authentication; a refused user is reported without the password', async () => {
  const user = natsUserName({ kind: 'apiserver' });
  await using nats = await startNatsServer({ users: [{ role: { kind: 'apiserver' }, password: 'sec/ret' }] });
  const flags = ['--nodes', '0', '--memory', '--bus'];
  const withPassword = (password: string): string => nats.url.replace('//', `//${user}:${password}@`);
  await withFolder(async (folder) => {
    const refused = await runStart('--port', '0', '--data-dir', folder, ...flags, withPassword('secret'));
    assertOperatorError(refused, /event bus at nats:\/\/127.*user or password is wrong.*check its address and user/s);
    assert.doesNotMatch(refused.stderr, /secret/);
  });
  await using cluster = await HoldfastProcess.start([...flags, withPassword('sec%2Fret')]);
  assert.equal(await cluster.stop('SIGINT'), 0);
});

test('a Redis that may lose acknowledged writes is refused with all wrong settings, unless it is allowed', async () => {
  await using redis = await startRedis({ appendfsync: 'everysec' });
  await withFolder(async (folder) => {
    const flags = ['--port', '0', '--nodes', '0', '--data-dir', folder, '--store', redis.url];
    assertOperatorError(await runStart(...flags), /appendfsync is "everysec" and must be "always"/);
    await using cluster = await HoldfastProcess.start(
      ['--allow-unsafe-store', '--nodes', '0', '--store', redis.url],
      folder,
    );
    assert.match(cluster.ready.warnings.join(), /the store is unsafe: appendfsync/);
    const health = await kubectl(cluster.ready.kubeconfig, ['get', '--raw', '/readyz?verbose']);
    assert.match(health, /\[\+\]etcd ok, but the store is unsafe: appendfsync/);
  });
});

test('the embedded cluster runs on Redis and NATS as well', async () => {
  await using redis = await startRedis();
  await using nats = await startNatsServer();
  await using cluster = await HoldfastProcess.start(['--nodes', '0', '--store', redis.url, '--bus', nats.url]);
  assert.equal(await cluster.stop('SIGINT'), 0);
});

test('acknowledged writes exist after a restart, with the same credentials', async () => {
  await withFolder(async (folder) => {
    const first = await HoldfastProcess.start(['--nodes', '0'], folder);
    await kubectl(first.ready.kubeconfig, ['create', 'configmap', 'kept', '--from-literal=a=b']);
    await first.stop('SIGKILL');
    await using second = await HoldfastProcess.start(['--nodes', '0'], folder);
    assert.equal(await kubectl(second.ready.kubeconfig, ['get', 'cm', 'kept', '-o', 'jsonpath={.data.a}']), 'b');
  });
});

test('Ctrl-C during a start gives it up in order: it exits with 130, and the data directory is free', async () => {
  await withFolder(async (folder) => {
    const flags = ['start', '--json', '--port', '0', '--data-dir', folder];
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...flags]);
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => {
      // The lock is taken, and the store opens.
      if (stdout === '') child.kill('SIGINT');
      stdout += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const [code] = await once(child, 'close');
    assert.equal(code, 130, stderr);
    assert.equal(stderr, 'holdfast: the start is given up; pods get their time to end (again to stop at once)\n');
    assert.doesNotMatch(stdout, /"event":"ready"/);
    await using next = await HoldfastProcess.start(['--nodes', '0'], folder);
    assert.equal(await next.stop('SIGINT'), 0);
  });
});

test('a second Ctrl-C stops at once, and the next start finds the pods that still run', async () => {
  await withFolder(async (folder) => {
    const first = await HoldfastProcess.start([], folder);
    // Ends by itself some time, whatever becomes of this test.
    const script = 'trap "" TERM; echo deaf; for i in $(seq 120); do sleep 1; done';
    const command = ['--image=busybox', '--restart=Never', '--', 'sh', '-c', script];
    await kubectl(first.ready.kubeconfig, ['run', 'deaf', ...command]);
    await waitFor('it ignores signals', async () =>
      (await tryKubectl(first.ready.kubeconfig, ['logs', 'deaf'])).stdout.startsWith('deaf'),
    );
    const container = ['get', 'pod', 'deaf', '-o', 'jsonpath={.status.containerStatuses[0].containerID}'];
    const before = await waitFor('it is reported', () => kubectl(first.ready.kubeconfig, container));
    // Close signals count as one; these continue until they do not.
    await waitFor('it is gone', () => !signalled(first.pid));
    assert.equal(await first.stop(), 130);
    await using second = await HoldfastProcess.start([], folder);
    assert.equal(await kubectl(second.ready.kubeconfig, container), before);
    await kubectl(second.ready.kubeconfig, ['delete', 'pod', 'deaf', '--grace-period=1']);
  });
});

function signalled(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGINT');
  } catch {
    return false;
  }
}
