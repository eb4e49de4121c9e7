import type { ChildProcess } from 'node:child_process';
import type { Clock } from '@holdfast/platform';
import { AGENT_ANSWER_BYTES_MAX, AGENT_WORDS_CHARS_MAX } from '../limits.ts';
import { type Deadline, withDeadline } from './deadline.ts';
import type { FenceAgent } from './port.ts';
import { decodeAnswer, encodeRequest } from './wire.ts';

export interface ExecAgentOptions {
  readonly name: string;
  /** The program and its arguments, without a shell. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** Runs a command per request: request on standard input, answer on standard output, exit code 0. */
export const createExecAgent = (options: ExecAgentOptions): FenceAgent => ({
  name: options.name,
  ask: (request, signal) =>
    withDeadline(options, signal, async (deadline) => {
      const output = await run(options, encodeRequest(request), deadline);
      return decodeAnswer(output, request.requestId);
    }),
});

async function run({ command, environment }: ExecAgentOptions, input: string, deadline: Deadline): Promise<string> {
  // Loaded on the first request: a fencer without such agents does not need it.
  const { spawn } = await import('node:child_process');
  const [program = '', ...args] = command;
  // Its own process group, so that child processes end with it.
  const child = spawn(program, args, { env: { ...environment }, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  const [output, complaint] = [collect(child, 'stdout'), collect(child, 'stderr')];
  // The exit code decides about a command that ends without reading its input.
  child.stdin.on('error', () => {});
  child.stdin.end(`${input}\n`);
  deadline.onPassed(() => {
    endGroup(child);
    // Child processes may hold these streams open and write for ever.
    child.stdout.destroy();
    child.stderr.destroy();
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.on('error', (error) => reject(new Error(`${program} cannot be run`, { cause: error })));
  child.once('close', (code, signalName) => {
    if (output.isTooLong()) reject(new Error(`${program} answered with more than ${AGENT_ANSWER_BYTES_MAX} bytes`));
    else if (code === 0) resolve(output.text());
    else reject(new Error(`${program} ended with ${signalName ?? `code ${code}`}${quoted(complaint.text())}`));
  });
  return promise;
}

interface Collected {
  readonly text: () => string;
  readonly isTooLong: () => boolean;
}

function collect(child: ChildProcess, stream: 'stdout' | 'stderr'): Collected {
  let bytes = 0;
  const chunks: Buffer[] = [];
  child[stream]?.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= AGENT_ANSWER_BYTES_MAX) chunks.push(chunk);
    else endGroup(child);
  });
  return {
    text: () => Buffer.concat(chunks).toString('utf8'),
    isTooLong: () => bytes > AGENT_ANSWER_BYTES_MAX,
  };
}

const quoted = (complaint: string): string =>
  complaint.trim() === '' ? '' : `: ${complaint.trim().slice(-AGENT_WORDS_CHARS_MAX)}`;

function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  const hasEnded = child.exitCode !== null || child.signalCode !== null;
  // A group id is not reused while a member lives. A pid that belongs to a new process is not ours.
  if (hasEnded && isProcess(child.pid)) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}

function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}
