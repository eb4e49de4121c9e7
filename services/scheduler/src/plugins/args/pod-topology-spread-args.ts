import { HOSTNAME_LABEL, structSchema, type TopologySpreadConstraint, ZONE_LABEL } from '@holdfast/api';
import { duplicate, type FieldError, forbidden, invalid, notSupported, required } from '@holdfast/machinery';
import { listOf, scalar } from '@holdfast/machinery/schema-build';
import { invariant } from '@holdfast/platform';
import type { RawArgs } from '../../framework/definition.ts';
import { checkArgs, report, struct } from './decode-args.ts';

export interface PodTopologySpreadArgs {
  readonly defaultConstraints: readonly TopologySpreadConstraint[];
  /** The built-in constraints, which also score nodes that lack one of the keys. */
  readonly systemDefaulted: boolean;
}

interface WireArgs {
  readonly defaultConstraints?: readonly Partial<TopologySpreadConstraint>[];
  readonly defaultingType?: string;
}

const SYSTEM_DEFAULTS: readonly TopologySpreadConstraint[] = [
  { topologyKey: HOSTNAME_LABEL, whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 3 },
  { topologyKey: ZONE_LABEL, whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 5 },
];

const SCHEMA = struct('PodTopologySpreadArgs', {
  defaultConstraints: listOf(() => {
    const schema = structSchema('core.v1.TopologySpreadConstraint');
    invariant(schema !== undefined, 'topology spread constraints have a field table');
    return schema;
  }),
  defaultingType: scalar('string'),
});

const DEFAULTING_TYPES = ['System', 'List'];
const ACTIONS = ['DoNotSchedule', 'ScheduleAnyway'];

export function decodePodTopologySpreadArgs(raw: RawArgs | undefined): PodTopologySpreadArgs {
  const { defaultConstraints = [], defaultingType = 'System' } = checkArgs(raw, SCHEMA) as WireArgs;
  report(raw, [
    ...defaultConstraints.flatMap(mistakesOf),
    ...duplicatesOf(defaultConstraints),
    ...typeMistakes(defaultingType, defaultConstraints.length),
  ]);
  if (defaultingType === 'System') return { defaultConstraints: SYSTEM_DEFAULTS, systemDefaulted: true };
  return { defaultConstraints: defaultConstraints.map(completed), systemDefaulted: false };
}

function completed(constraint: Partial<TopologySpreadConstraint>): TopologySpreadConstraint {
  return { maxSkew: 1, topologyKey: '', whenUnsatisfiable: 'ScheduleAnyway', ...constraint };
}

function typeMistakes(type: string, constraints: number): readonly FieldError[] {
  if (!DEFAULTING_TYPES.includes(type)) return [notSupported('defaultingType', type, DEFAULTING_TYPES)];
  if (type !== 'System' || constraints === 0) return [];
  return [invalid('defaultingType', type, 'when .defaultConstraints are not empty')];
}

function mistakesOf(constraint: Partial<TopologySpreadConstraint>, i: number): readonly FieldError[] {
  const at = `defaultConstraints[${i}]`;
  const { maxSkew = 0, topologyKey = '', whenUnsatisfiable = '', labelSelector } = constraint;
  return [
    ...(maxSkew > 0 ? [] : [invalid(`${at}.maxSkew`, maxSkew, 'not in valid range (0, inf)')]),
    ...(topologyKey === '' ? [required(`${at}.topologyKey`, 'can not be empty')] : []),
    ...whenMistakes(`${at}.whenUnsatisfiable`, whenUnsatisfiable),
    ...(labelSelector === undefined
      ? []
      : [forbidden(`${at}.labelSelector`, 'constraint must not define a selector, as they deduced for each pod')]),
  ];
}

function whenMistakes(path: string, when: string): readonly FieldError[] {
  if (when === '') return [required(path, 'can not be empty')];
  return ACTIONS.includes(when) ? [] : [notSupported(path, when, ACTIONS)];
}

function duplicatesOf(constraints: readonly Partial<TopologySpreadConstraint>[]): readonly FieldError[] {
  const pairs = constraints.map(({ topologyKey, whenUnsatisfiable }) => `{${topologyKey}, ${whenUnsatisfiable}}`);
  return pairs.flatMap((pair, i) => (pairs.indexOf(pair) === i ? [] : [duplicate(`defaultConstraints[${i}]`, pair)]));
}
