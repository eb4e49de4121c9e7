import { KINDS, type StepKind } from '../sim/hunt/kinds.ts';
import { KIND_WORDS } from './kinds.ts';

/** The table of `docs/scenarios.md`. `refusals`: why containers cannot do a kind. */
export function kindTable(refusals: Readonly<Record<StepKind, string | undefined>>): string {
  const rows = (Object.keys(KIND_WORDS) as StepKind[]).map((kind) => {
    const { says, value } = KIND_WORDS[kind];
    const { targets, for: lasts } = KINDS[kind];
    const fields = [
      ...(targets === 'none' ? [] : [`\`target\`: ${targets}`]),
      ...(lasts === undefined ? [] : ['`for`']),
      ...(value === undefined ? [] : [`\`${value.name}\`: ${value.unit}`]),
    ];
    const words = says.replace('{target}', () => 'the target').replace('{value}', () => `\`${value?.name}\``);
    return `| \`${kind}\` | ${fields.join(', ')} | ${words} | ${refusals[kind] === undefined ? 'yes' : `no: ${refusals[kind]}`} |`;
  });
  return ['| kind | fields beside `at` | what happens | on containers |', '| --- | --- | --- | --- |', ...rows].join(
    '\n',
  );
}
