import type { ChildProcess } from 'node:child_process';
import { type Clock, environmentWith } from '@holdfast/platform';
import { COMPLAINT_CHARS_MAX, NFT_ANSWER_BYTES_MAX } from '../limits.ts';

export interface RunOptions {
  readonly input: string;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Beside the environment of this process. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** Runs a program without a shell and returns its output. Rejects with what it complained about. */
export async function runProgram(
  [program = '', ...args]: readonly string[],
  { input, clock, timeoutMs, variables = {} }: RunOptions,
): Promise<string> {
  // Loaded on the first call: a proxy with a filter in memory runs nothing.
  const { spawn } = await import('node:child_process');
  const child = spawn(program, args, { env: environmentWith(variables), stdio: ['pipe', 'pipe', 'pipe'] });
  const output = collect(child, 'stdout');
  const complaint = collect(child, 'stderr');
  // The exit code decides about a program that ends without reading its input.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const deadline = clock.timer(timeoutMs, () => {
    child.kill('SIGKILL');
    reject(new Error(`${program} did not end within ${timeoutMs / 1_000} s`));
  });
  child.on('error', (error) => reject(new Error(`${program} cannot be run`, { cause: error })));
  child.on('close', (code, signal) => {
    if (code === 0) resolve(output());
    else
      reject(
        new Error(`${program} ended with ${signal ?? `code ${code}`}: ${complaint().slice(0, COMPLAINT_CHARS_MAX)}`),
      );
  });
  try {
    return await promise;
  } finally {
    deadline.cancel();
  }
}

/** The beginning of what the program writes. It must read on, or the program would wait for ever. */
function collect(child: ChildProcess, stream: 'stdout' | 'stderr'): () => string {
  let bytes = 0;
  const chunks: Buffer[] = [];
  child[stream]?.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= NFT_ANSWER_BYTES_MAX) chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString('utf8');
}
