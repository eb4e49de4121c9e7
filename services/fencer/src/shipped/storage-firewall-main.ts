import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describeError } from '@holdfast/platform';
import { answerFor, type RunProgram } from './storage-firewall.ts';

const start = promisify(execFile);
const run: RunProgram = async ([program = '', ...args]) => (await start(program, args)).stdout;

// An agent for `exec`: request on standard input, answer on standard output.
try {
  process.stdout.write(`${await answerFor(readFileSync(0, 'utf8'), run)}\n`);
} catch (error) {
  process.stderr.write(`${describeError(error)}\n`);
  process.exitCode = 1;
}
