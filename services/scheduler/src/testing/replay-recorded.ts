import { readFileSync } from 'node:fs';
import { differences, type Recorded } from './replay.ts';

/**
 * Replays decisions recorded from another scheduler: `node replay-recorded.ts <file.json>`. Prints every case where ours differs
 * in its message, or picks a node that is not as good as those that were picked, and exits with 1 if there is one.
 */
const [, , file = ''] = process.argv;
const recorded = JSON.parse(readFileSync(file, 'utf8')) as Recorded[];
const differing = recorded.map(differences).filter((lines) => lines.length > 0);
process.stdout.write(
  [...differing.flat(), `${recorded.length - differing.length}/${recorded.length} alike`, ''].join('\n'),
);
process.exitCode = differing.length === 0 ? 0 : 1;
