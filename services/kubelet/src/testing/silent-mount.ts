import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, realpathSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** For root alone: others may not mount. */
export const unlessFuse = (): string | false =>
  existsSync('/dev/fuse') ? false : 'needs /dev/fuse, which containers usually lack';

/** A FUSE file system without a server: every call into it waits. */
export async function mountSilent(t: TestContext): Promise<string> {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-silent-')));
  const device = openSync('/dev/fuse', 'r+');
  const options = 'fd=3,rootmode=40000,user_id=0,group_id=0';
  await run(['mount', '-c', '-i', '-t', 'fuse', '-o', options, 'holdfast-silent', path], device);
  t.after(async () => {
    // Its calls fail then.
    closeSync(device);
    await run(['umount', '-c', '-l', path]);
    rmdirSync(path);
  });
  return path;
}

async function run([program = '', ...args]: readonly string[], descriptor?: number): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit', descriptor ?? 'ignore'] });
  const ended = Promise.withResolvers<number | null>();
  child.once('error', ended.reject);
  child.once('close', ended.resolve);
  assert.equal(await ended.promise, 0, `${program} ${args.join(' ')}`);
}
