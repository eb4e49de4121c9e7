import { readFileSync } from 'node:fs';
import { describeError } from '@holdfast/platform';
import { answerFor } from './docker-poweroff.ts';

// An agent for `exec`: request on standard input, answer on standard output.
try {
  process.stdout.write(`${await answerFor(readFileSync(0, 'utf8'))}\n`);
} catch (error) {
  process.stderr.write(`${describeError(error)}\n`);
  process.exitCode = 1;
}
