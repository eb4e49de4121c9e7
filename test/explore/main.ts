import { describePlan, reportOf, summaryOf } from '@holdfast/cluster/explore';
import { explorePlanted } from './explore-planted.ts';

/** Explores one operator and prints what is found: `node test/explore/main.ts creates-twice planted 20`. */
const [name = '', form = 'planted', plans = '20'] = process.argv.slice(2);
const exploration = await explorePlanted(name, form === 'correct' ? 'correct' : 'planted', {
  plans: Number(plans),
  untilFirst: form !== 'correct',
  onProgress: (progress) => {
    if (progress.kind === 'reference')
      console.log(`reference: ${progress.writes} writes, ${progress.events} events, ${progress.plans} plans`);
    if (progress.kind === 'plan')
      console.log(
        `${progress.number}: ${describePlan(progress.plan)}: ${progress.findings.map(({ text }) => text).join('; ') || 'fine'}`,
      );
  },
});
for (const each of exploration.accusations.slice(0, 2)) console.log(reportOf(each, (plan) => plan));
console.log(summaryOf(exploration));
