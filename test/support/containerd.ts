import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CNI_PLUGINS, ensureContainerd } from '../../tools/setup/containerd.ts';
import { PAUSE_IMAGE, writeTestImages } from '../../tools/setup/test-images.ts';
import { mountsBelow, spawnQuietly } from './machine-leftovers.ts';
import { waitFor } from './wait.ts';

/** A containerd of its own: own socket, state, images, cgroups and network. */
export class TestContainerd implements AsyncDisposable {
  readonly directory: string;
  /** Pods have two addresses where the machine has both families. */
  readonly hasIpv6: boolean = hasIpv6();
  readonly #bridge: string;
  /** Enters the network of the machine that it serves. */
  readonly #words: readonly string[];
  #child: ChildProcess | undefined;

  private constructor(directory: string, words: readonly string[]) {
    this.directory = directory;
    this.#words = words;
    this.#bridge = `hf${process.pid % 1_000_000}`;
  }

  static async start(words: readonly string[] = []): Promise<TestContainerd> {
    ensureContainerd();
    const containerd = new TestContainerd(mkdtempSync(path.join(tmpdir(), 'holdfast-cri-')), words);
    try {
      containerd.configureNetwork();
      writeFileSync(containerd.#file('config.toml'), config(containerd.directory));
      await containerd.launch();
      writeTestImages(containerd.#file('images.tar'));
      containerd.ctr(['images', 'import', containerd.#file('images.tar')]);
      return containerd;
    } catch (error) {
      await containerd[Symbol.asyncDispose]();
      throw error;
    }
  }

  get socket(): string {
    return this.#file('containerd.sock');
  }

  get endpoint(): string {
    return `unix://${this.socket}`;
  }

  ctr(args: readonly string[]): string {
    return execFileSync('ctr', ['-a', this.socket, '-n', 'k8s.io', ...args], { encoding: 'utf8', timeout: 60_000 });
  }

  /** Resolves when the socket answers. */
  async launch(): Promise<void> {
    const log = openSync(this.#file('log'), 'a');
    const [program, ...args] = [...this.#words, 'containerd', '-c', this.#file('config.toml')];
    this.#child = spawn(program, args, { stdio: ['ignore', log, log] });
    closeSync(log);
    await waitFor('containerd answers', () => answers(this.socket)).catch((error: unknown) => {
      throw new Error(readFileSync(this.#file('log'), 'utf8').slice(-4_000), { cause: error });
    });
  }

  /** Containers continue to run. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    rmSync(this.socket, { force: true });
  }

  configureNetwork(): void {
    const octet = 64 + (process.pid % 128);
    const ranges = [[{ subnet: `10.${octet}.${(process.pid >> 7) % 250}.0/24` }]];
    if (this.hasIpv6) ranges.push([{ subnet: `fd00:${(process.pid % 0xffff).toString(16)}::/64` }]);
    const bridge = {
      type: 'bridge',
      bridge: this.#bridge,
      isGateway: true,
      ipam: { type: 'host-local', dataDir: this.#file('ipam'), ranges },
    };
    const plugins = [bridge, { type: 'portmap', capabilities: { portMappings: true } }];
    mkdirSync(this.#file('net.d'), { recursive: true });
    const text = JSON.stringify({ cniVersion: '0.4.0', name: 'holdfast-test', plugins });
    writeFileSync(this.#file('net.d/10-test.conflist'), text);
  }

  get networkDirectory(): string {
    return this.#file('net.d');
  }

  removeNetworkConfiguration(): void {
    rmSync(this.#file('net.d/10-test.conflist'), { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child !== undefined) this.#endTasks();
    await this.kill();
    spawnQuietly('ip', ['link', 'delete', this.#bridge]);
    for (const mount of mountsBelow(this.directory)) spawnQuietly('umount', ['-l', mount]);
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Remaining tasks of a failed test: without its containerd nothing would end them. */
  #endTasks(): void {
    try {
      for (const id of this.ctr(['tasks', 'ls', '-q']).split('\n').filter(Boolean))
        spawnQuietly('ctr', ['-a', this.socket, '-n', 'k8s.io', 'tasks', 'rm', '-f', id]);
    } catch {
      // It does not answer any more: what is left is found through its mounts.
    }
  }

  #file(name: string): string {
    return path.join(this.directory, name);
  }
}

/** Without the right to protect processes from the OOM killer (CAP_SYS_RESOURCE) only restricted ones start. */
function config(directory: string): string {
  const quoted = (name: string): string => JSON.stringify(path.join(directory, name));
  return `
version = 2
root = ${quoted('root')}
state = ${quoted('state')}
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
  address = ${quoted('containerd.sock')}
[ttrpc]
  address = ${quoted('containerd.sock.ttrpc')}
[plugins."io.containerd.internal.v1.opt"]
  path = ${quoted('opt')}
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ${JSON.stringify(PAUSE_IMAGE)}
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = ${JSON.stringify(canOverlay(directory) ? 'overlayfs' : 'native')}
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = ${JSON.stringify(CNI_PLUGINS)}
    conf_dir = ${quoted('net.d')}
`;
}

/** A file system that is one itself takes no other on top of it: then layers are copied. */
function canOverlay(directory: string): boolean {
  const [lower, upper, work, merged] = ['lower', 'upper', 'work', 'merged'].map((name) => {
    const folder = path.join(directory, 'trial', name);
    mkdirSync(folder, { recursive: true });
    return folder;
  });
  const options = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
  try {
    execFileSync('mount', ['-t', 'overlay', 'trial', '-o', options, merged ?? ''], { stdio: 'ignore' });
    execFileSync('umount', [merged ?? ''], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket, () => {
      connection.destroy();
      resolve(true);
    });
    connection.once('error', () => resolve(false));
  });
}

function hasIpv6(): boolean {
  const file = '/proc/sys/net/ipv6/conf/default/disable_ipv6';
  return existsSync(file) && readFileSync(file, 'utf8').trim() === '0';
}
