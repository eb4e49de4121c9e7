// `npm run mutate -- --id TERM-29`: applies the breaks of tools/mutation/breaks to copies of the tree, one at a time, and runs the tests that name the
// requirement. Every break must make one of them fail. The tree itself is only written to by `--table`.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { type Break, checkRow, isBreak, prefixOf, type Row, readRequirements, readRows } from './breaks.ts';
import { mutate, type Outcome, unsound } from './mutate.ts';
import { createScratch } from './scratch.ts';
import { PAGE, renderPage } from './table.ts';

const root = path.resolve(import.meta.dirname, '../..');
const USAGE = `usage: npm run mutate -- [--id ID|PREFIX]... [--jobs N]   applies the breaks of these requirements (all, 1 job)
       npm run mutate -- --table                         writes ${PAGE}
`;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
const options = readOptions();
const rows = readRows(root).filter(isAsked);
process.exit(options.table ? writeTable() : await run(rows.filter(isBreak)));

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        id: { type: 'string', multiple: true, default: [] },
        jobs: { type: 'string', default: '1' },
        table: { type: 'boolean', default: false },
      },
    });
    const known = readRequirements(root);
    const unknown = values.id.find((id) => !known.some((each) => each === id || prefixOf(each) === id));
    if (unknown !== undefined) throw new Error(`--id ${unknown} is no requirement and no group of them`);
    const jobs = Number(values.jobs);
    if (!Number.isSafeInteger(jobs) || jobs < 1) throw new Error(`--jobs ${values.jobs} is not a whole number above 0`);
    return { ids: values.id, jobs, table: values.table };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(2);
  }
}

function isAsked({ id }: Row): boolean {
  return options.ids.length === 0 || options.ids.includes(id) || options.ids.includes(prefixOf(id));
}

function writeTable(): number {
  const page = renderPage(readRows(root), readRequirements(root));
  writeFileSync(path.join(root, PAGE), page);
  return 0;
}

async function run(breaks: readonly Break[]): Promise<number> {
  const scratches = Array.from({ length: Math.max(1, Math.min(options.jobs, breaks.length)) }, () =>
    createScratch(root),
  );
  const [first] = scratches;
  const problems = rows.flatMap((row) => checkRow(root, row));
  if (first !== undefined) problems.push(...(await unsound(first, breaks)));
  for (const problem of problems) say(problem);
  const outcomes = await mutate(scratches, breaks, tell);
  const left = outcomes.filter(({ verdict }) => verdict !== 'killed');
  if (left.length > 0) say('\nnot killed:');
  for (const outcome of left) tell(outcome);
  const killed = outcomes.length - left.length;
  const survived = left.filter(({ verdict }) => verdict === 'SURVIVED').length;
  const covered = new Set(rows.map(({ id }) => id)).size;
  say(
    `${killed} killed, ${survived} survived of ${breaks.length} breaks; ${covered} of ${readRequirements(root).length} requirements`,
  );
  return left.length === 0 && problems.length === 0 && breaks.length > 0 ? 0 : 1;
}

function tell({ broken, verdict, detail, seconds }: Outcome): void {
  const change = `${broken.file}: ${broken.find} -> ${broken.replace}`.replace(/\s+/g, ' ');
  say(`${verdict.padEnd(8)} ${broken.id}  ${change}\n         ${detail} (${seconds.toFixed(1)} s)`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
