// `npm run hunt -- --minutes N --jobs 2`: plays fresh seeds of the simulator until the time is over. What breaks a rule is made small and written
// to hunt-found/. Each process plays some seeds and is replaced, so that memory stays flat.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { readScenario } from '../../test/sim/hunt/scenario-file.ts';
import { huntFresh } from './fresh.ts';
import { huntPlanted } from './planted.ts';
import { runWorker } from './worker.ts';

const root = path.resolve(import.meta.dirname, '../..');
const TABLE = 'docs/internals/planted-bugs.md';
const RESULTS = 'tools/hunt/planted-results.json';
const USAGE = `usage: npm run hunt -- [--minutes N] [--jobs N] [--from SEED]   plays fresh seeds (10 minutes, 1 job)
       npm run hunt -- --replay FILE                            plays a scenario file again, with its planted bug if it has one
       npm run hunt -- --planted NAME,...|all [--seeds N] [--minutes N] [--jobs N] [--together N] [--resume]
                                                                hunts for planted bugs, each in at most N seeds (400) and minutes,
                                                                and writes ${TABLE}; --resume goes on after the seeds
                                                                that were played in vain; --together plants N at once (1)
`;

const options = readOptions();
process.exit(await hunt());

async function hunt(): Promise<number> {
  const { replay: file, planted: which, seeds, minutes, jobs, from, resumes, together } = options;
  if (file !== undefined) return replay(file);
  if (which === undefined) return huntFresh({ minutes, jobs, from, say, folder: path.join(root, 'hunt-found') });
  const files = { results: path.join(root, RESULTS), table: path.join(root, TABLE) };
  return huntPlanted({ which, seeds, minutes, jobs, resumes, together, say, ...files });
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: 'string', default: '10' },
        jobs: { type: 'string', default: '1' },
        from: { type: 'string' },
        seeds: { type: 'string', default: '400' },
        replay: { type: 'string' },
        planted: { type: 'string' },
        together: { type: 'string', default: '1' },
        resume: { type: 'boolean', default: false },
      },
    });
    const from = whole('from', values.from ?? String(Math.floor(Date.now() / 1000)));
    const [jobs, seeds] = [whole('jobs', values.jobs), whole('seeds', values.seeds)];
    const minutes = Number(values.minutes);
    if (!(minutes > 0)) throw new Error(`--minutes ${values.minutes} is not a number above 0`);
    const { replay, planted, resume: resumes } = values;
    return { minutes, jobs, seeds, from, replay, planted, resumes, together: whole('together', values.together) };
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

/** Exit code 1: the file still breaks a rule. */
async function replay(given: string): Promise<number> {
  const file = path.resolve(process.env['INIT_CWD'] ?? '.', given);
  let scenario: ReturnType<typeof readScenario>;
  try {
    scenario = readScenario(file);
  } catch (error) {
    process.stderr.write(`${given} cannot be read as a scenario: ${error instanceof Error ? error.message : ''}\n`);
    return 2;
  }
  for (const line of scenario.reads) say(line);
  if (scenario.planted !== undefined) say(`with the planted bug ${scenario.planted}`);
  const lines: string[] = [];
  const work = { command: 'replay', args: [file], planted: scenario.planted } as const;
  const end = await runWorker(work, (line) => lines.push(line));
  if (end !== undefined) {
    say(`the process of the run ended: ${end.why}`);
    return 1;
  }
  const { violation, traceHash } = JSON.parse(lines.join('')) as {
    readonly violation?: { readonly rule: string; readonly story: string };
    readonly traceHash: string;
  };
  say(violation === undefined ? 'no rule is broken' : `a rule is broken: ${violation.story}`);
  say(`trace ${traceHash}`);
  return violation === undefined ? 0 : 1;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
