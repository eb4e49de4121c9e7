import { spawn } from 'node:child_process';
import { HELPER_ENVIRONMENT } from '../../runtime/helpers.ts';
import { PROGRAM_DEADLINE_MS, PROGRAM_OUTPUT_MAX_BYTES } from './limits.ts';

/** Runs a program to its end. Resolves with its output; rejects with what it complained about when it fails. */
export function run(
  command: readonly string[],
  input = '',
  deadlineMs = PROGRAM_DEADLINE_MS,
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  const [program = '', ...args] = command;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { ...HELPER_ENVIRONMENT, ...variables },
      timeout: deadlineMs,
      killSignal: 'SIGKILL',
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let output = '';
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (output.length < PROGRAM_OUTPUT_MAX_BYTES) output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (said.length < PROGRAM_OUTPUT_MAX_BYTES) said += text;
    });
    child.on('error', (error) => reject(new Error(`${program}: ${error.message}`)));
    child.on('close', (code, signal) => {
      if (code === 0) resolve(output);
      else
        reject(new Error(`${program} failed (${signal ?? code}): ${said.trim().slice(0, PROGRAM_OUTPUT_MAX_BYTES)}`));
    });
    // It may end before it has read everything.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}
