import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';

export const KUBECTL_DEADLINE_MS = 60_000;
/** Long enough for any test to see what it waits for; a forgotten watch ends by itself. */
const WATCH_DEADLINE_MS = 120_000;

export interface KubectlResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs kubectl with this kubeconfig; never rejects for a non-zero exit. */
export function tryKubectl(
  kubeconfig: string,
  args: readonly string[],
  input: string | Uint8Array = '',
  environment: readonly string[] = [],
): Promise<KubectlResult> {
  const child = spawnKubectl(kubeconfig, args, KUBECTL_DEADLINE_MS, environment);
  // A program that ends before it has read everything breaks the pipe; what it printed and its exit code say why it ended.
  child.stdin?.on('error', ignoreBrokenPipe);
  child.stdin?.end(input);
  return finished(child);
}

function ignoreBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

function finished(child: ChildProcess): Promise<KubectlResult> {
  return new Promise((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** Runs kubectl and answers what it printed; rejects when it fails. */
export async function kubectl(
  kubeconfig: string,
  args: readonly string[],
  input = '',
  words: readonly string[] = [],
): Promise<string> {
  const result = await tryKubectl(kubeconfig, args, input, words);
  if (result.code !== 0)
    throw new Error(`kubectl ${args.join(' ')} ended with ${result.code}: ${result.stderr}${result.stdout}`);
  return result.stdout;
}

/** A user's shell: commands that must succeed, commands that may fail, and commands with continuous output. */
export interface Kubectl {
  readonly run: (...args: readonly string[]) => Promise<string>;
  readonly attempt: (...args: readonly string[]) => Promise<KubectlResult>;
  /** `kubectl <args> -f -` with these objects, as JSON documents. */
  readonly send: (args: readonly string[], ...objects: readonly object[]) => Promise<string>;
  readonly attemptSend: (args: readonly string[], ...objects: readonly object[]) => Promise<KubectlResult>;
  /** `kubectl edit` with this command as the editor. */
  readonly edit: (editor: string, ...args: readonly string[]) => Promise<KubectlResult>;
  readonly follow: (...args: readonly string[]) => KubectlStream;
}

/** kubectl uses WebSocket by default, and SPDY, as older versions do, when configured. */
export const STREAM_PROTOCOLS = [
  { name: 'WebSocket', environment: [] },
  {
    name: 'SPDY',
    environment: ['KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false', 'KUBECTL_PORT_FORWARD_WEBSOCKETS=false'],
  },
] as const;

/**
 * `kubeconfig` is read for each call: tests bind the commands before their cluster runs. `words` begin each command, where
 * the cluster is in a network of its own.
 */
export function createKubectl(kubeconfig: () => string, words: readonly string[] = []): Kubectl {
  const documents = (objects: readonly object[]): string => objects.map((each) => JSON.stringify(each)).join('\n');
  return {
    run: (...args) => kubectl(kubeconfig(), args, '', words),
    attempt: (...args) => tryKubectl(kubeconfig(), args, '', words),
    send: (args, ...objects) => kubectl(kubeconfig(), [...args, '-f', '-'], documents(objects), words),
    attemptSend: (args, ...objects) => tryKubectl(kubeconfig(), [...args, '-f', '-'], documents(objects), words),
    edit: (editor, ...args) =>
      finished(spawnKubectl(kubeconfig(), ['edit', ...args], KUBECTL_DEADLINE_MS, [`KUBE_EDITOR=${editor}`, ...words])),
    follow: (...args) => new KubectlStream(spawnKubectl(kubeconfig(), args, WATCH_DEADLINE_MS, words)),
  };
}

/** A kubectl with continuous output, such as `get -w`; disposing ends it. */
export class KubectlStream implements AsyncDisposable {
  readonly #child: ChildProcess;
  #printed = '';

  constructor(child: ChildProcess) {
    this.#child = child;
    const keep = (chunk: Buffer): void => {
      this.#printed += chunk.toString();
    };
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
  }

  /** Everything printed so far, on both channels. */
  get printed(): string {
    return this.#printed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const closed = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.kill('SIGTERM');
    await closed;
  }
}

/** The discovery cache lies beside the kubeconfig: nothing of a test stays behind in the user's home. */
export function spawnKubectl(
  kubeconfig: string,
  args: readonly string[],
  timeout: number,
  environment: readonly string[] = [],
): ChildProcess {
  const cache = path.join(path.dirname(kubeconfig), 'kubectl-cache');
  const command = ['kubectl', '--kubeconfig', kubeconfig, '--cache-dir', cache, ...args];
  return spawn('env', [...environment, ...command], { timeout });
}
