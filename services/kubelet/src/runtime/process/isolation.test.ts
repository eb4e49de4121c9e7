import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { containerConfig } from '../contract.ts';
import { isRoot } from './become.ts';
import { writeIsolationScript } from './isolation-script.ts';

test('a start with mounts runs one program beside those that become the command: each costs milliseconds', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-isolation-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const source = join(directory, 'hosts');
  writeFileSync(source, '');
  const mounts = [{ source, target: '/etc/hosts', readOnly: false }];
  const config = containerConfig(['/bin/sleep', '600'], { mounts, user: { uid: 7, gid: 7 } });
  const node = { hidden: [directory], hidesProcesses: true };
  const request = { config, sandbox: { hostname: 'web-0' }, node };
  const script = writeIsolationScript(join(directory, 'root'), request);
  // Programs with these names only record that they ran; shell built-ins are not programs.
  const bin = join(directory, 'bin');
  mkdirSync(bin);
  const said = join(directory, 'said');
  for (const name of ['mount', 'chroot', 'setpriv', 'readlink', 'hostname'])
    writeFileSync(join(bin, name), `#!/bin/sh\nprintf '%s\\n' ${name} >> '${said}'\n`, { mode: 0o755 });
  const text = readFileSync(script, 'utf8').replace('/proc/sys/kernel/hostname', '/dev/null');
  const stubbed = text.replaceAll(/\/(?:usr\/)?s?bin\/(mount|chroot|setpriv|readlink|hostname)\b/g, `${bin}/$1`);
  execFileSync('/bin/sh', ['-c', stubbed, 'start', '/'], { env: { PATH: '/nowhere' }, timeout: 10_000 });
  assert.deepEqual(readFileSync(said, 'utf8').trim().split('\n'), ['mount', isRoot() ? 'setpriv' : 'chroot']);
});
