// One process of a hunt: runs some seeds and prints a report of each as one line of JSON. The hunt starts a new process
// for the next seeds, so that memory stays flat. After SIGTERM or SIGINT it finishes the current seed.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { readScenario } from '../../scenario/files.ts';
import { planOf } from '../../scenario/plans.ts';
import { Recorder } from '../../scenario/timeline/recorder.ts';
import { renderTimeline } from '../../scenario/timeline/render.ts';
import { foundBy, Hunter, SHRINK_RUNS } from './hunter.ts';
import { profileNamed } from './plan.ts';
import { playScenario } from './play.ts';

const BYTES_PER_KB = 1024;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { profile: { type: 'string' }, plan: { type: 'string' } },
});
const [command, first = '', count = '1', planted, shrinkRuns] = positionals;
const profile = profileNamed(values.profile);
const options = { planted, profile, shrinkRuns: command === 'hunt' ? Number(shrinkRuns ?? SHRINK_RUNS) : 0 };
let isOver = false;
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => (isOver = true));
Error.stackTraceLimit = 8;
if (command === 'replay') {
  const html = count === '1' ? '' : count;
  const scenario = readScenario(first);
  const recorder = new Recorder(scenario);
  const { violation, traceHash } = await playScenario(scenario, recorder);
  if (html !== '') writeFileSync(html, renderTimeline(recorder.timeline()));
  process.stdout.write(`${JSON.stringify({ violation, traceHash })}\n`);
} else {
  const hunter = new Hunter(options);
  for (let seed = Number(first); seed < Number(first) + Number(count) && !isOver; seed++) {
    const before = process.cpuUsage();
    const plan = values.plan === undefined ? hunter.planFor(seed) : planOf(readScenario(values.plan));
    // Should the process end in it, nobody else knows a plan that was not drawn from the seed alone.
    process.stdout.write(`${JSON.stringify({ begins: foundBy(plan, undefined, planted) })}\n`);
    const report = await hunter.play(plan);
    const { user, system } = process.cpuUsage(before);
    const cost = {
      cpuMs: Math.round((user + system) / 1000),
      peakBytes: process.resourceUsage().maxRSS * BYTES_PER_KB,
    };
    process.stdout.write(`${JSON.stringify({ ...report, ...cost })}\n`);
    if (planted !== undefined && report.scenario !== undefined) break;
  }
}
process.exit(0);
