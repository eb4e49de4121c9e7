// `npm run hunt -- --minutes N --jobs 2`: plays fresh seeds of the simulator until the time is over. What breaks a rule is made small and written
// to hunt-found/. Each process plays some seeds and is replaced, so that memory stays flat.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { profileNamed } from '../../test/sim/hunt/plan.ts';
import { huntFresh } from './fresh.ts';
import { huntPlanted } from './planted.ts';
import { replay } from './replay.ts';

const root = path.resolve(import.meta.dirname, '../..');
const TABLE = 'docs/internals/planted-bugs.md';
const RESULTS = 'tools/hunt/planted-results.json';
const USAGE = `usage: npm run hunt -- [--minutes N] [--jobs N] [--from SEED] [--profile short|standard|long]
                                                                plays fresh seeds (10 minutes, 1 job, standard worlds)
       npm run hunt -- --scenario FILE [--html FILE]            plays a scenario file, with its planted bug if it has one, and
                                                                writes its timeline
       npm run hunt -- --planted NAME,...|all [--seeds N] [--minutes N] [--jobs N] [--together N] [--hunts N] [--resume]
                                                                hunts for planted bugs, N times each (1) with other seeds, in at
                                                                most N seeds (400) and minutes,
                                                                and writes ${TABLE}; --resume goes on after the seeds
                                                                that were played in vain; --together plants N at once (1)
       --json                                                   one JSON document a line, of a scenario or of fresh seeds
`;

// A process that plays one seed would spend half of its time on compiling. By the content of the sources: a planted one is another.
process.env['NODE_COMPILE_CACHE'] ??= path.join(root, 'node_modules/.cache/hunt');
const options = readOptions();
const document = options.isJson ? (result: object): void => print(JSON.stringify(result)) : undefined;
process.exit(await hunt());

async function hunt(): Promise<number> {
  const {
    scenario: file,
    html,
    planted: which,
    seeds,
    minutes,
    jobs,
    from,
    profile,
    resumes,
    together,
    hunts,
  } = options;
  if (file !== undefined)
    return replay({ file: fromHere(file), html: html === undefined ? undefined : fromHere(html), say, document });
  if (which === undefined)
    return huntFresh({ minutes, jobs, from, profile, say, document, folder: path.join(root, 'hunt-found') });
  const files = { results: path.join(root, RESULTS), table: path.join(root, TABLE) };
  return huntPlanted({ which, seeds, minutes, jobs, resumes, together, hunts, say, ...files });
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: 'string', default: '10' },
        jobs: { type: 'string', default: '1' },
        from: { type: 'string' },
        profile: { type: 'string' },
        seeds: { type: 'string', default: '400' },
        scenario: { type: 'string' },
        html: { type: 'string' },
        planted: { type: 'string' },
        together: { type: 'string', default: '1' },
        hunts: { type: 'string', default: '1' },
        resume: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    });
    const from = whole('from', values.from ?? String(Math.floor(Date.now() / 1000)));
    const [jobs, seeds] = [whole('jobs', values.jobs), whole('seeds', values.seeds)];
    const minutes = Number(values.minutes);
    if (!(minutes > 0)) throw new Error(`--minutes ${values.minutes} is not a number above 0`);
    const { scenario, html, planted, resume: resumes } = values;
    return {
      minutes,
      jobs,
      seeds,
      from,
      profile: profileNamed(values.profile),
      scenario,
      html,
      planted,
      resumes,
      isJson: values.json,
      together: whole('together', values.together),
      hunts: whole('hunts', values.hunts),
    };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(2);
  }
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} ${text} is not a whole number above 0`);
  return value;
}

/** A path as the user wrote it. */
function fromHere(file: string): string {
  return path.resolve(process.env['INIT_CWD'] ?? '.', file);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** With --json the output is for programs, and this is beside it. */
function say(text: string): void {
  if (options.isJson) process.stderr.write(`${text}\n`);
  else print(text);
}
