import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { ensurePackages, findOnPath } from '../../tools/setup/packages.ts';

/** Debian's packages, and a program of each. */
const NEEDED = [
  ['iproute2', 'ip'],
  ['nftables', 'nft'],
  ['curl', 'curl'],
] as const;

/** The network of a machine of its own: what is loaded into it reaches nobody else, and ends with it. */
export class PrivateMachine implements AsyncDisposable {
  readonly address = '172.31.77.2';
  /** Begin a command that runs there. */
  readonly words: readonly string[];
  readonly #keeper: ChildProcess;

  private constructor(keeper: ChildProcess) {
    this.#keeper = keeper;
    this.words = ['nsenter', `--net=/proc/${keeper.pid}/ns/net`, '--'];
  }

  static async start(): Promise<PrivateMachine> {
    const missing = NEEDED.filter(([, program]) => findOnPath(program) === undefined);
    if (missing.length > 0) ensurePackages(missing.map(([name]) => name));
    const keeper = spawn('unshare', ['--net', '--', 'sh', '-c', 'echo ready; exec sleep 3600'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const machine = new PrivateMachine(keeper);
    await once(keeper.stdout ?? keeper, 'data');
    machine.#setUp();
    return machine;
  }

  run(...command: readonly string[]): string {
    const [program = '', ...args] = [...this.words, ...command];
    return execFileSync(program, args, { encoding: 'utf8', timeout: 30_000 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#keeper, 'close');
    this.#keeper.kill('SIGKILL');
    await closed;
  }

  /** An interface with an address and a way to everywhere, as a machine has. */
  #setUp(): void {
    const commands = [
      'link set lo up',
      'link add eth0 type veth peer name cable',
      `addr add ${this.address}/24 dev eth0`,
      'link set cable up',
      'link set eth0 up',
      'route add default via 172.31.77.1',
    ];
    for (const command of commands) this.run('ip', ...command.split(' '));
    this.run('sh', '-c', 'echo 1 >/proc/sys/net/ipv4/ip_forward');
  }
}
