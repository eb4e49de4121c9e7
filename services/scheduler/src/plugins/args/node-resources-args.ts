import { type FieldError, invalid, notSupported, required } from '@holdfast/machinery';
import { field, listOf, scalar, strings } from '@holdfast/machinery/schema-build';
import type { RawArgs } from '../../framework/definition.ts';
import { checkArgs, outside, report, struct } from './decode-args.ts';

export interface WeightedResource {
  readonly name: string;
  readonly weight: number;
}

export interface UtilizationPoint {
  /** Percent of the node's capacity. */
  readonly utilization: number;
  /** 0 to 10. */
  readonly score: number;
}

export const SCORING_STRATEGIES = ['LeastAllocated', 'MostAllocated', 'RequestedToCapacityRatio'] as const;
export type ScoringStrategy = (typeof SCORING_STRATEGIES)[number];

export interface NodeResourcesFitArgs {
  readonly ignoredResources: readonly string[];
  readonly ignoredResourceGroups: readonly string[];
  readonly strategy: ScoringStrategy;
  readonly resources: readonly WeightedResource[];
  /** For RequestedToCapacityRatio. */
  readonly shape: readonly UtilizationPoint[];
}

interface WireArgs {
  readonly ignoredResources?: readonly string[];
  readonly ignoredResourceGroups?: readonly string[];
  readonly scoringStrategy?: {
    readonly type?: string;
    readonly resources?: readonly { readonly name: string; readonly weight?: number }[];
    readonly requestedToCapacityRatio?: { readonly shape?: readonly Partial<UtilizationPoint>[] };
  };
}

const RESOURCE = struct('ResourceSpec', { name: scalar('string'), weight: scalar('int64') });
const POINT = struct('UtilizationShapePoint', { utilization: scalar('int32'), score: scalar('int32') });
const RATIO = struct('RequestedToCapacityRatioParam', { shape: listOf(() => POINT) });
const STRATEGY = struct('ScoringStrategy', {
  type: scalar('string'),
  resources: listOf(() => RESOURCE),
  requestedToCapacityRatio: field(() => RATIO),
});
const FIT = struct('NodeResourcesFitArgs', {
  ignoredResources: strings,
  ignoredResourceGroups: strings,
  scoringStrategy: field(() => STRATEGY),
});
const BALANCED = struct('NodeResourcesBalancedAllocationArgs', { resources: listOf(() => RESOURCE) });

const CPU_AND_MEMORY: readonly WeightedResource[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
];

export function decodeNodeResourcesFitArgs(raw: RawArgs | undefined): NodeResourcesFitArgs {
  const { ignoredResources = [], ignoredResourceGroups = [], scoringStrategy = {} } = checkArgs(raw, FIT) as WireArgs;
  const { type = 'LeastAllocated', requestedToCapacityRatio = {} } = scoringStrategy;
  const resources = withWeights(scoringStrategy.resources);
  const shape = (requestedToCapacityRatio.shape ?? []).map(({ utilization = 0, score = 0 }) => ({
    utilization,
    score,
  }));
  const strategy = SCORING_STRATEGIES.find((known) => known === type);
  report(raw, [
    ...ignoredResources.flatMap(nameMistake),
    ...ignoredResourceGroups.flatMap(groupMistake),
    ...resourceMistakes('scoringStrategy.resources', resources),
    ...(strategy === undefined ? [notSupported('scoringStrategy.type', type, SCORING_STRATEGIES)] : []),
    ...(strategy === 'RequestedToCapacityRatio' ? shapeMistakes(shape) : []),
  ]);
  return { ignoredResources, ignoredResourceGroups, strategy: strategy ?? 'LeastAllocated', resources, shape };
}

export function decodeNodeResourcesBalancedArgs(raw: RawArgs | undefined): readonly WeightedResource[] {
  const args = checkArgs(raw, BALANCED) as Pick<NonNullable<WireArgs['scoringStrategy']>, 'resources'>;
  const resources = withWeights(args.resources);
  const unequal = resources.flatMap(({ weight }, i) =>
    weight === 1 ? [] : [invalid(`resources[${i}].weight`, weight, 'must be 1')],
  );
  report(raw, [...resourceMistakes('resources', resources), ...unequal]);
  return resources;
}

function withWeights(resources: readonly { name: string; weight?: number }[] = []): readonly WeightedResource[] {
  if (resources.length === 0) return CPU_AND_MEMORY;
  return resources.map(({ name, weight = 1 }) => ({ name, weight: weight === 0 ? 1 : weight }));
}

function nameMistake(name: string, i: number): readonly FieldError[] {
  return /^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$/.test(name)
    ? []
    : [invalid(`ignoredResources[${i}]`, name, 'a resource is named by a qualified name')];
}

function groupMistake(group: string, i: number): readonly FieldError[] {
  const path = `ignoredResourceGroups[${i}]`;
  return group.includes('/') ? [invalid(path, group, "resource group name can't contain '/'")] : [];
}

function resourceMistakes(path: string, resources: readonly WeightedResource[]): readonly FieldError[] {
  return resources.flatMap(({ name, weight }, i) => [
    ...(name === '' ? [required(`${path}[${i}].name`)] : []),
    ...(outside(weight, [1, 100])
      ? [invalid(`${path}[${i}].weight`, weight, `resource weight of ${name} not in valid range [1, 100]`)]
      : []),
  ]);
}

function shapeMistakes(shape: readonly UtilizationPoint[]): readonly FieldError[] {
  const path = 'scoringStrategy.requestedToCapacityRatio.shape';
  if (shape.length === 0) return [required(path, 'at least one point must be specified')];
  return shape.flatMap(({ utilization, score }, i) => {
    const at = `${path}[${i}]`;
    const before = shape[i - 1]?.utilization ?? -1;
    return [
      ...(outside(utilization, [0, 100])
        ? [invalid(`${at}.utilization`, utilization, 'not in valid range [0, 100]')]
        : []),
      ...(utilization > before
        ? []
        : [invalid(`${at}.utilization`, utilization, 'utilization values must be sorted in increasing order')]),
      ...(outside(score, [0, 10]) ? [invalid(`${at}.score`, score, 'not in valid range [0, 10]')] : []),
    ];
  });
}
