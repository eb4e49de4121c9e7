// One process of a hunt: plays some seeds and prints a report of each as one line of JSON. The hunt starts another one for the next seeds, so
// that memory stays flat.
import { huntSeed } from './hunter.ts';
import { runPlan } from './run.ts';
import { readScenario } from './scenario-file.ts';

const [command, first = '', count = '1', planted] = process.argv.slice(2);
Error.stackTraceLimit = 8;
if (command === 'replay') {
  const { violation, traceHash } = await runPlan(readScenario(first).plan);
  process.stdout.write(`${JSON.stringify({ violation, traceHash })}\n`);
} else {
  for (let seed = Number(first); seed < Number(first) + Number(count); seed++) {
    const report = await huntSeed(seed, { shrinks: command === 'hunt', planted });
    process.stdout.write(`${JSON.stringify(report)}\n`);
    if (planted !== undefined && report.scenario !== undefined) break;
  }
}
process.exit(0);
