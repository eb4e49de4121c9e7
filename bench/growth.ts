import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { type Growth, isStall, startGrowthLab } from '../test/abuse/growth.ts';
import { SCENARIOS } from '../test/abuse/growth-scenarios.ts';
import {
  nameOf,
  TEXTS,
  textFields,
  VARIANTS,
  type Variant,
  type WideField,
  wideFields,
} from '../test/abuse/wide-documents.ts';

/** Looks for work that grows faster than its request: each list and map of each kind, at two sizes, through the whole pipeline. */
const SETTINGS = {
  only: { kind: 'string', help: 'Lists whose name contains this', default: '' },
  what: { kind: 'string', help: 'lists, texts or scenarios', default: 'lists' },
  characters: { kind: 'integer', help: 'Repetitions in the larger text', default: 200_000, min: 4 },
  size: { kind: 'integer', help: 'Entries of the larger document', default: 10_000, min: 4 },
  over: { kind: 'integer', help: 'Print what takes so many milliseconds, too', default: 200, min: 0 },
  runs: { kind: 'integer', help: 'The least of so many runs counts', default: 1, min: 1 },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/growth.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
const lab = await startGrowthLab();
if (settings.what === 'scenarios') {
  await compareScenarios();
  process.exit(0);
}
const isOfTexts = settings.what === 'texts';
const all: readonly WideField[] = isOfTexts ? textFields() : wideFields();
const variants: readonly Variant[] = isOfTexts ? TEXTS : VARIANTS;
const size = isOfTexts ? settings.characters : settings.size;
const fields = all.filter((field) => nameOf(field).includes(settings.only));
process.stdout.write(`${fields.length} ${settings.what}\n${'small ms'.padStart(9)} ${'large ms'.padStart(9)}\n`);
for (const field of fields) {
  for (const variant of variants) {
    for (const growth of await lab.measure(field, { variant, size, runs: settings.runs })) {
      if (isStall(growth) || growth.largeMs >= settings.over) printGrowth(growth);
    }
  }
}
await lab.stop();

async function compareScenarios(): Promise<void> {
  process.stdout.write(`${'small ms'.padStart(9)} ${'large ms'.padStart(9)}\n`);
  for (const scenario of SCENARIOS.filter(({ name }) => name.includes(settings.only))) {
    const growth = await lab.compare(scenario, settings.runs);
    if (isStall(growth) || growth.largeMs >= settings.over) printGrowth(growth);
  }
  await lab.stop();
}

function printGrowth(growth: Growth): void {
  const { name, smallMs, largeMs } = growth;
  const mark = isStall(growth) ? ' GROWS' : '';
  process.stdout.write(`${smallMs.toFixed(0).padStart(9)} ${largeMs.toFixed(0).padStart(9)}${mark} ${name}\n`);
}
