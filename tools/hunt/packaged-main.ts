// The simulator of the package: `holdfast sim` starts it where there is no checkout. It has no planted bugs.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { profileNamed } from '../../test/sim/hunt/plan.ts';
import { huntFresh } from './fresh.ts';
import { replay } from './replay.ts';

const { values } = parseArgs({
  options: {
    scenario: { type: 'string' },
    html: { type: 'string' },
    minutes: { type: 'string', default: '10' },
    from: { type: 'string' },
    profile: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
process.exit(await play());

function play(): Promise<number> {
  const { scenario: file, html, profile, minutes, json } = values;
  const document = json ? (result: object): void => print(JSON.stringify(result)) : undefined;
  const say = json ? (text: string): void => void process.stderr.write(`${text}\n`) : print;
  if (file !== undefined) return replay({ file, html, plants: false, say, document });
  return huntFresh({
    minutes: Number(minutes),
    jobs: 1,
    from: Number(values.from ?? Math.floor(Date.now() / 1000)),
    profile: profileNamed(profile),
    say,
    document,
    folder: path.resolve('hunt-found'),
    again: 'holdfast sim',
  });
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
