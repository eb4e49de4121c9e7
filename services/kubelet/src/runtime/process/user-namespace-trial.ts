import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FIRST_POD_ID, USER_RANGE_LENGTH } from '../../domain/user-ranges.ts';
import { HELPER_ENVIRONMENT, helper } from '../helpers.ts';
import { enterAs } from './become.ts';
import { ABILITY_TEST_MS } from './limits.ts';
import { quote } from './mount-plan.ts';
import { becomePodRoot, preparePodRoot } from './user-namespace.ts';

const NOBODY = { name: '', image: '', command: [], args: [], env: {}, restartCount: 0 };

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
    const enter = enterAs({ ...NOBODY, user: { uid: 7, gid: 7 } }, range)
      .map(quote)
      .join(' ');
    const start = `[ "$(stat -c %u /etc)" != 0 ] && exec ${enter} /bin/sh -c '[ "$(id -u)" = 7 ]'`;
    const script = `fail() { exit 125; }\nexec 3>/dev/null\ncd /\n${preparePodRoot(directory, range)}\n${becomePodRoot(start)}`;
    const args = ['--mount', '--uts', '--', '/bin/sh', '-c', script];
    const options = { stdio: 'ignore', timeout: ABILITY_TEST_MS, env: HELPER_ENVIRONMENT } as const;
    const { status, signal } = spawnSync(helper('unshare'), args, options);
    return signal === null ? status === 0 : undefined;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
