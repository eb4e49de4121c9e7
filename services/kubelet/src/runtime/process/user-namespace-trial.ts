import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FIRST_POD_ID, USER_RANGE_LENGTH } from '../../domain/user-ranges.ts';
import { ABILITY_TEST_MS } from './limits.ts';
import { becomePodRoot } from './user-namespace.ts';

let isAllowed: boolean | undefined;

/** Tried with ids that pods would get: kernels, containers and their settings differ. A machine that was too busy is tried again. */
export function userNamespaceRefusal(): string | undefined {
  if (process.getuid?.() !== 0)
    return 'user namespaces (hostUsers: false) need a node that runs as root: only root may give pods ids of their own';
  isAllowed ??= tryUserNamespace();
  return isAllowed === true
    ? undefined
    : 'user namespaces (hostUsers: false): this machine does not let the node make one and map its ids';
}

/** `undefined`: no answer in time. */
function tryUserNamespace(): boolean | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-users-'));
  try {
    const range = { firstId: FIRST_POD_ID, length: USER_RANGE_LENGTH };
    const start = `[ "$(stat -c %u /etc)" != 0 ] && [ "$(id -u)" = 0 ] && setpriv --reuid 7 --regid 7 --clear-groups -- sh -c '[ "$(id -u)" = 7 ]'`;
    const script = `fail() { exit 125; }\nexec 3>/dev/null\ncd /\n${becomePodRoot(directory, range, start)}`;
    const args = ['--mount', '--uts', '--', '/bin/sh', '-c', script];
    const { status, signal } = spawnSync('unshare', args, { stdio: 'ignore', timeout: ABILITY_TEST_MS });
    return signal === null ? status === 0 : undefined;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
