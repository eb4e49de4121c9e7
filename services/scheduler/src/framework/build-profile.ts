import { type Asked, neverAsked } from './asked.ts';
import type { PluginDefinition, PluginFactory, PluginHandle } from './definition.ts';
import { EXTENSION_POINTS, type ExtensionPoint, type Hints, type Plugin } from './plugin.ts';
import type { FilterPlugin, Profile } from './profile.ts';

/** A plugin in one profile: its extension points and arguments. */
export interface ChosenPlugin {
  readonly definition: PluginDefinition;
  readonly create: PluginFactory;
}

/** The configuration of one profile. */
export interface ProfileChoice {
  readonly schedulerName: string;
  readonly percentageOfNodesToScore: number;
  /** Plugins by extension point, in order; `score` includes weights. */
  readonly points: Readonly<Record<ExtensionPoint, readonly PointChoice[]>>;
  readonly plugins: ReadonlyMap<string, ChosenPlugin>;
}

export interface PointChoice {
  readonly name: string;
  readonly weight: number;
}

export function buildProfile(choice: ProfileChoice, handle: PluginHandle): Profile {
  const made = new Map([...choice.plugins].map(([name, { create }]) => [name, create(handle)] as const));
  const asked = new Map([...made.keys()].map((name) => [name, neverAsked()] as const));
  const at = <K extends ExtensionPoint & keyof Plugin>(point: K): { name: string; call: NonNullable<Plugin[K]> }[] =>
    choice.points[point].flatMap(({ name }) => {
      const call = made.get(name)?.[point];
      return call === undefined ? [] : [{ name, call }];
    });
  const [sort] = at('queueSort');
  return {
    schedulerName: choice.schedulerName,
    percentageOfNodesToScore: choice.percentageOfNodesToScore,
    compare: sort?.call ?? ((a, b) => a.order - b.order),
    preEnqueue: at('preEnqueue'),
    filters: filtersOf(choice, made, asked),
    postFilters: at('postFilter'),
    scorers: choice.points.score.flatMap(({ name, weight }) => {
      const { preScore: call, localScore: local = false } = made.get(name) ?? {};
      return call === undefined ? [] : [{ name, call, weight, local, asked: asked.get(name) ?? neverAsked() }];
    }),
    reserves: choice.points.reserve.map(({ name }) => {
      const plugin = made.get(name);
      return { name, reserve: plugin?.reserve, unreserve: plugin?.unreserve };
    }),
    permits: at('permit'),
    preBinds: at('preBind'),
    binds: at('bind'),
    postBinds: at('postBind'),
    hints: hintsOf(made),
    asked,
  };
}

/** In the order of `filter`; plugins with only PreFilter come first. */
function filtersOf(
  { points, plugins }: ProfileChoice,
  made: ReadonlyMap<string, Plugin>,
  counts: ReadonlyMap<string, Asked>,
): readonly FilterPlugin[] {
  const preFilters = new Set(points.preFilter.map(({ name }) => name));
  const filters = new Set(points.filter.map(({ name }) => name));
  let allLocal = true;
  return [...preFilters.difference(filters), ...filters].flatMap((name): FilterPlugin[] => {
    const { preFilter: call, localFilter = false } = made.get(name) ?? {};
    if (call === undefined) return [];
    if (filters.has(name) && !localFilter) allLocal = false;
    const prepares = plugins.get(name)?.definition.points.includes('preFilter') === true;
    const asked = counts.get(name) ?? neverAsked();
    if (!filters.has(name)) return [{ name, call, asked, local: false, runs: 'preFilter only' }];
    return [{ name, call, asked, local: allLocal, runs: prepares && !preFilters.has(name) ? 'filter only' : 'both' }];
  });
}

function hintsOf(made: ReadonlyMap<string, Plugin>): ReadonlyMap<string, Hints> {
  return new Map([...made].map(([name, { wakesOn = {} }]) => [name, wakesOn] as const));
}

/** Returns all extension points without plugins. */
export function noPoints(): Record<ExtensionPoint, PointChoice[]> {
  const points: Partial<Record<ExtensionPoint, PointChoice[]>> = {};
  for (const point of EXTENSION_POINTS) points[point] = [];
  return points as Record<ExtensionPoint, PointChoice[]>;
}
