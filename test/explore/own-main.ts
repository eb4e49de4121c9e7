import { describePlan, type Progress, reportOf, summaryOf } from '@holdfast/cluster/explore';
import { exploreOwn } from './explore-own.ts';
import { OWN_CONTROLLERS } from './own-controllers.ts';

const lineOf = (progress: Exclude<Progress, { readonly kind: 'stage' }>): string =>
  progress.kind === 'reference'
    ? `reference: ${progress.writes} writes, ${progress.events} events, ${progress.plans} plans`
    : `${progress.number}: ${describePlan(progress.plan)}: ${progress.findings.map(({ text }) => text).join('; ') || 'fine'}`;

/**
 * Explores our own controllers: `node test/explore/own-main.ts 20 statefulset job`. Arguments: the number of plans, and
 * names of workloads; default: all. A third word that is JSON is the only plan. Exit code 1: something was found.
 */
const [plans = '20', ...words] = process.argv.slice(2);
const names = words.filter((word) => !word.startsWith('{'));
const only = words.find((word) => word.startsWith('{'));
for (const name of names.length === 0 ? OWN_CONTROLLERS.keys() : names) {
  console.log(`== ${name}`);
  const exploration = await exploreOwn(name, {
    plans: Number(plans),
    ...(only === undefined ? {} : { only: JSON.parse(only) }),
    onProgress: (progress) => {
      if (progress.kind !== 'stage') console.log(lineOf(progress));
    },
  });
  for (const each of exploration.accusations) console.log(reportOf(each, (plan) => plan));
  console.log(summaryOf(exploration));
  if (exploration.accusations.length > 0) process.exitCode = 1;
}
