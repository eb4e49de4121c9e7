import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { apiServersOf } from '../support/compose-form.ts';
import type { LossKind } from './plan.ts';

const execute = promisify(execFile);

type Cut = Extract<LossKind, `cut-${string}`>;

type Rules = readonly (readonly string[])[];

/** Loses nodes of a compose cluster, and returns them. Needs root: it works on their networks and processes from outside. */
export class NodeFaults {
  readonly #cluster: ComposeCluster;
  /** The rules of each cut. Its end removes these: the API servers may have other addresses by then. */
  readonly #cuts = new Map<string, Rules>();

  constructor(cluster: ComposeCluster) {
    this.#cluster = cluster;
  }

  async begin(kind: LossKind, node: string): Promise<void> {
    const container = this.#cluster.containerOf(node);
    switch (kind) {
      case 'isolate':
        return this.#cluster.disconnect(node);
      case 'power-loss':
        return void (await docker('kill', '--signal', 'KILL', container));
      case 'pause':
        return void (await docker('pause', container));
      case 'kubelet-stopped':
        return void process.kill(await kubeletOf(container), 'SIGSTOP');
      case 'cut-api':
      case 'cut-to-api':
      case 'cut-from-api':
        return this.#cut(kind, container);
    }
  }

  async end(kind: LossKind, node: string): Promise<void> {
    const container = this.#cluster.containerOf(node);
    switch (kind) {
      case 'isolate':
        return this.#cluster.connect(node);
      case 'power-loss':
        return void (await docker('start', container));
      case 'pause':
        return killPaused(container);
      case 'kubelet-stopped':
        return void process.kill(await kubeletOf(container), 'SIGCONT');
      case 'cut-api':
      case 'cut-to-api':
      case 'cut-from-api':
        return changeRules(container, '--delete', this.#cuts.get(`${kind} ${container}`) ?? []);
    }
  }

  async #cut(kind: Cut, container: string): Promise<void> {
    const rules = await this.#rules(kind);
    this.#cuts.set(`${kind} ${container}`, rules);
    await changeRules(container, '--insert', rules);
  }

  async #rules(kind: Cut): Promise<Rules> {
    const servers = apiServersOf(this.#cluster.form).map((service) => this.#cluster.containerOf(service));
    return (await addressesOf(...servers)).flatMap((address) => [
      ...(kind === 'cut-from-api' ? [] : [['OUTPUT', '--destination', address, '--jump', 'DROP']]),
      ...(kind === 'cut-to-api' ? [] : [['INPUT', '--source', address, '--jump', 'DROP']]),
    ]);
  }
}

export async function docker(...args: readonly string[]): Promise<string> {
  return (await dockerBytes(...args)).toString().trim();
}

/** The output as it is. */
export async function dockerBytes(...args: readonly string[]): Promise<Buffer> {
  return (await execute('docker', args, { encoding: 'buffer', maxBuffer: OUTPUT_BYTES_MAX })).stdout;
}

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

export async function addressesOf(...containers: readonly string[]): Promise<readonly string[]> {
  const format = '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}';
  return (await docker('inspect', '--format', format, ...containers)).split(/\s+/).filter((address) => address !== '');
}

export const pidOf = async (container: string): Promise<string> =>
  runningPid(container, await docker('inspect', '--format', '{{.State.Pid}}', container));

/** The engine says 0 of a container that does not run. A signal to 0 would end the processes of this run itself. */
export function runningPid(container: string, pid: string): string {
  if (!(Number(pid) > 0)) throw new Error(`${container} does not run`);
  return pid;
}

/** Resolves with the output. */
export async function inNetworkOf(container: string, command: readonly string[], input = ''): Promise<string> {
  const running = execute('nsenter', ['--target', await pidOf(container), '--net', '--', ...command]);
  // A program that ends before it reads tells why by its exit.
  running.child.stdin?.on('error', () => undefined).end(input);
  return (await running).stdout;
}

/**
 * All rules at once, or none: one program for each of dozens would take longer than a fault lasts. Inserted rules stand in
 * front of those that are there, in this order.
 */
export async function changeRules(container: string, verb: '--insert' | '--delete', rules: Rules): Promise<void> {
  const lines = (verb === '--insert' ? rules.toReversed() : rules).map((rule) => [verb, ...rule].join(' '));
  await inNetworkOf(container, ['iptables-restore', '--noflush'], ['*filter', ...lines, 'COMMIT', ''].join('\n'));
}

/** The child of the container's first process that runs the program of a kubelet. */
async function kubeletOf(container: string): Promise<number> {
  const first = await pidOf(container);
  const found = readdirSync('/proc').find((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    return readProc(entry, 'cmdline').includes('kubelet/src/main.ts') && parentOf(entry) === first;
  });
  if (found === undefined) throw new Error(`no kubelet runs in ${container}`);
  return Number(found);
}

const parentOf = (pid: string): string =>
  readProc(pid, 'stat')
    .replace(/^.*\) /, '')
    .split(' ')[1] ?? '';

export function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** No instruction of a suspended machine runs any more: its processes have a SIGKILL before they are resumed. */
async function killPaused(container: string): Promise<void> {
  const [, ...pids] = (await docker('top', container, '-eo', 'pid')).split('\n').map((line) => line.trim());
  for (const pid of pids) process.kill(Number(runningPid(container, pid)), 'SIGKILL');
  // The restart policy of the container starts it again.
  await docker('unpause', container);
}
