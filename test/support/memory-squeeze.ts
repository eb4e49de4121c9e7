import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from './wait.ts';

const MOUNTS = '/sys/fs/cgroup';
/** Much more than a member uses: the kernel weighs what it spares a process by the limit. */
const LIMIT_BYTES = 512 * 1024 * 1024;
/** Grows until the kernel ends it, again and again. */
const HOG = 'echo $$ >"$0"; while :; do tail /dev/zero; done';

/** A memory controller of either version of control groups. */
interface Controller {
  readonly root: string;
  readonly limit: string;
  /** The file that counts kills of the kernel, and the word before the count. */
  readonly kills: string;
}

/** Puts processes into a group whose memory is used up all the time: whoever needs more of it waits, and the kernel ends somebody. */
export class MemorySqueeze implements AsyncDisposable {
  readonly #controller = findController();
  readonly #group = join(this.#controller.root, `holdfast-squeeze-${process.pid}`);
  readonly #members: readonly number[];
  readonly #hog: ChildProcess;

  constructor(members: readonly number[]) {
    mkdirSync(this.#group);
    writeFileSync(join(this.#group, this.#controller.limit), String(LIMIT_BYTES));
    this.#members = members;
    for (const pid of members) move(pid, this.#group);
    this.#hog = spawn('sh', ['-c', HOG, join(this.#group, PROCESSES)], { stdio: 'ignore', detached: true });
  }

  /** How often the kernel has ended a process of the group for its memory. */
  get kills(): number {
    const text = readFileSync(join(this.#group, this.#controller.kills), 'utf8');
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { pid } = this.#hog;
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    for (const member of this.#members) move(member, this.#controller.root);
    await waitFor('the group to be empty', () => readFileSync(join(this.#group, PROCESSES), 'utf8') === '');
    rmdirSync(this.#group);
  }
}

const PROCESSES = 'cgroup.procs';

function findController(): Controller {
  const first = join(MOUNTS, 'memory');
  if (existsSync(join(first, 'memory.limit_in_bytes')))
    return { root: first, limit: 'memory.limit_in_bytes', kills: 'memory.oom_control' };
  const controllers = join(MOUNTS, 'cgroup.subtree_control');
  if (existsSync(controllers) && readFileSync(controllers, 'utf8').includes('memory'))
    return { root: MOUNTS, limit: 'memory.max', kills: 'memory.events' };
  throw new Error(`no memory controller is below ${MOUNTS}: run the tests as root, on a machine with control groups`);
}

/** One that has ended meanwhile is in no group. */
function move(pid: number, group: string): void {
  try {
    writeFileSync(join(group, PROCESSES), String(pid));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
