import { readFileSync } from 'node:fs';
import { differences, type Recorded } from './replay.ts';

/**
 * Replays decisions recorded from another scheduler: `node replay-recorded.ts <file.json>`. Prints every case whose
 * message differs, or whose node is worse than the recorded ones, and exits with 1 if there is any.
 */
const [, , file = ''] = process.argv;
const recorded = JSON.parse(readFileSync(file, 'utf8')) as Recorded[];
const differing = recorded.map(differences).filter((lines) => lines.length > 0);
process.stdout.write(
  [...differing.flat(), `${recorded.length - differing.length}/${recorded.length} alike`, ''].join('\n'),
);
process.exitCode = differing.length === 0 ? 0 : 1;
