import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { unlessRoot } from '@holdfast/testing';
import {
  containerConfig,
  exited,
  type RuntimeHarness,
  sandboxConfig,
} from '../../services/kubelet/src/runtime/contract.ts';

const SCRIPT = 'head -c 5 /dev/xvda && printf WORLD > /dev/xvda && sync; printf no > /dev/xvdb && exit 7; exit 0';

/** A container runtime gives containers block devices, writable or not. */
export function testBlockDevices(name: string, createHarness: () => Promise<RuntimeHarness>): void {
  test(`${name}: a container sees a block device, and writes only what it may`, { skip: unlessRoot() }, async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-devices-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const device = (file: string): { readonly image: string; readonly source: string } => {
      const image = path.join(folder, file);
      writeFileSync(image, 'hello'.padEnd(1024 ** 2, '\0'));
      const source = execFileSync('losetup', ['--find', '--show', image], { encoding: 'utf8' }).trim();
      t.after(() => execFileSync('losetup', ['--detach', source]));
      return { image, source };
    };
    const [own, other] = [device('own'), device('other')];
    const harness = await createHarness();
    try {
      const { runtime } = harness;
      const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
      const devices = [
        { source: own.source, target: '/dev/xvda', readOnly: false },
        { source: other.source, target: '/dev/xvdb', readOnly: true },
      ];
      const id = await runtime.createContainer(sandbox, containerConfig(['/bin/sh', '-c', SCRIPT], { devices }));
      await runtime.startContainer(id);
      assert.equal((await exited(runtime, id)).exitCode, 0);
    } finally {
      await harness.dispose();
    }
    for (const { source } of [own, other]) execFileSync('blockdev', ['--flushbufs', source]);
    const heads = [own, other].map(({ image }) => readFileSync(image, 'utf8').slice(0, 5));
    assert.deepEqual(heads, ['WORLD', 'hello']);
  });
}
