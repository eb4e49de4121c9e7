import { spawn } from 'node:child_process';
import path from 'node:path';
import { NODE_FLAGS } from './node-flags.ts';

export const MAIN = path.resolve(import.meta.dirname, '../../services/holdfast/src/main.ts');
const DEADLINE_MS = 120_000;

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `holdfast` with these arguments to its end. `environment`: NAME=value, beside what this process has. */
export function holdfast(args: readonly string[], environment: readonly string[] = []): Promise<Ran> {
  const child = spawn('env', [...environment, process.execPath, ...NODE_FLAGS, MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: DEADLINE_MS,
  });
  const { promise, resolve, reject } = Promise.withResolvers<Ran>();
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.once('error', reject);
  child.once('close', (code) => resolve({ code, stdout, stderr }));
  return promise;
}
