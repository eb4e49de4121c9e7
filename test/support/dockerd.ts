import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ensureDockerPrograms } from '../../tools/setup/docker.ts';
import { writeTestImages } from '../../tools/setup/test-images.ts';
import { mountsBelow, spawnQuietly } from './machine-leftovers.ts';
import { waitFor } from './wait.ts';

const COMMAND_DEADLINE_MS = 60_000;

/** A Docker engine of its own: own socket, state, images and network. */
export class TestDockerd implements AsyncDisposable {
  readonly directory: string;
  readonly #bridge: string;
  /** Enters the network of the machine that it serves. */
  readonly #words: readonly string[];
  #isLetThrough = false;
  #child: ChildProcess | undefined;

  private constructor(directory: string, words: readonly string[]) {
    this.directory = directory;
    this.#words = words;
    this.#bridge = `hd${process.pid % 1_000_000}`;
  }

  static async start(words: readonly string[] = []): Promise<TestDockerd> {
    ensureDockerPrograms();
    const dockerd = new TestDockerd(mkdtempSync(path.join(tmpdir(), 'holdfast-docker-')), words);
    try {
      dockerd.#makeNetwork();
      await dockerd.launch();
      writeTestImages(dockerd.#file('images.tar'));
      dockerd.docker('load', '--quiet', '--input', dockerd.#file('images.tar'));
      return dockerd;
    } catch (error) {
      await dockerd[Symbol.asyncDispose]();
      throw error;
    }
  }

  get endpoint(): string {
    return `unix://${this.#file('docker.sock')}`;
  }

  docker(...args: readonly string[]): string {
    const own = ['--host', this.endpoint, ...args];
    return execFileSync('docker', own, { encoding: 'utf8', timeout: COMMAND_DEADLINE_MS, stdio: 'pipe' });
  }

  /** Ids of all containers, those that ended too. */
  containers(...filters: readonly string[]): readonly string[] {
    const args = filters.flatMap((filter) => ['--filter', filter]);
    return this.docker('ps', '--all', '--quiet', '--no-trunc', ...args)
      .split('\n')
      .filter(Boolean);
  }

  /** Resolves when the engine answers. */
  async launch(): Promise<void> {
    const log = openSync(this.#file('log'), 'a');
    // Its containerd writes its stacks to the temporary folder when the machine is so busy that it misses health checks.
    const command = [`TMPDIR=${this.directory}`, ...this.#words, 'dockerd', ...this.#flags()];
    this.#child = spawn('env', command, { stdio: ['ignore', log, log] });
    closeSync(log);
    await waitFor('the Docker engine answers', async () => this.#answers()).catch((error: unknown) => {
      throw new Error(readFileSync(this.#file('log'), 'utf8').slice(-4_000), { cause: error });
    });
  }

  /** The engine ends as by a service manager; its containers run on (`--live-restore`). */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child !== undefined) this.#removeContainers();
    await this.stop();
    if (this.#isLetThrough) this.#quietly('iptables', ...this.#rule('--delete'));
    this.#quietly('ip', 'link', 'delete', this.#bridge);
    for (const mount of mountsBelow(this.directory)) spawnQuietly('umount', ['-l', mount]);
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Remaining containers of a failed test. */
  #removeContainers(): void {
    try {
      const left = this.containers();
      if (left.length > 0) this.docker('rm', '--force', '--volumes', ...left);
    } catch {
      // It does not answer any more.
    }
  }

  /** The engine changes no packet filters of the machine: containers reach each other and this machine, nothing else. */
  #flags(): readonly string[] {
    return [
      `--host=${this.endpoint}`,
      `--pidfile=${this.#file('pid')}`,
      `--data-root=${this.#file('root')}`,
      `--exec-root=${this.#file('exec')}`,
      `--bridge=${this.#bridge}`,
      '--iptables=false',
      '--ip6tables=false',
      '--live-restore',
    ];
  }

  #makeNetwork(): void {
    // Apart from the addresses of pods (10.244.0.0/16) and services.
    const address = `10.${200 + (process.pid % 40)}.${Math.floor(process.pid / 40) % 250}.1/24`;
    this.#run('ip', 'link', 'add', this.#bridge, 'type', 'bridge');
    this.#run('ip', 'address', 'add', address, 'dev', this.#bridge);
    this.#run('ip', 'link', 'set', this.#bridge, 'up');
    this.#letThrough();
  }

  /** An engine of the machine drops what bridges forward by default: also what containers of this one send each other. */
  #letThrough(): void {
    const [program, ...args] = [...this.#words, 'iptables', '--list-rules', 'FORWARD'];
    const { stdout } = spawnSync(program, args, { encoding: 'utf8' });
    if (!stdout?.startsWith('-P FORWARD DROP')) return;
    this.#run('iptables', ...this.#rule('--insert'));
    this.#isLetThrough = true;
  }

  #rule(command: '--insert' | '--delete'): readonly string[] {
    return [command, 'FORWARD', '--in-interface', this.#bridge, '--out-interface', this.#bridge, '--jump', 'ACCEPT'];
  }

  #run(...command: readonly string[]): void {
    const [program = '', ...args] = [...this.#words, ...command];
    execFileSync(program, args);
  }

  #quietly(...command: readonly string[]): void {
    const [program = '', ...args] = [...this.#words, ...command];
    spawnQuietly(program, args);
  }

  #answers(): boolean {
    try {
      this.docker('version');
      return true;
    } catch {
      return false;
    }
  }

  #file(name: string): string {
    return path.join(this.directory, name);
  }
}
