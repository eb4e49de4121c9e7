import { type Cycle, type PreFiltered, SKIP } from '../framework/plugin.ts';
import type { NamedFilter, NodeRejection } from '../framework/prepared.ts';
import type { FilterPlugin } from '../framework/profile.ts';
import { type PluginTimer, statusOfPreFiltered, statusOfRejection } from '../framework/timing.ts';

export type Prepared =
  | { readonly kind: 'rejected'; readonly rejection: NodeRejection }
  | {
      readonly kind: 'ready';
      readonly filters: readonly NamedFilter[];
      /** How many of the first filters pods with equal needs share. */
      readonly shared: number;
      readonly only: ReadonlySet<string> | undefined;
      readonly narrowedBy: readonly string[];
    };

export type Ready = Extract<Prepared, { kind: 'ready' }>;

/** Calls PreFilter of every plugin once. Plugins without anything to check are skipped in this decision. */
export function prepareFilters(cycle: Cycle, plugins: readonly FilterPlugin[], timer?: PluginTimer): Prepared {
  const filters: NamedFilter[] = [];
  const narrowedBy: string[] = [];
  let shared = 0;
  let only: ReadonlySet<string> | undefined;
  for (const plugin of plugins) {
    const prepared = timer === undefined ? preparedBy(plugin, cycle) : timedBy(timer, plugin, cycle);
    if (prepared.kind === 'skip') continue;
    plugin.asked.preFilter++;
    if (prepared.kind === 'reject') {
      return { kind: 'rejected', rejection: { plugin: plugin.name, ...prepared.rejection } };
    }
    if (prepared.only !== undefined) {
      narrowedBy.push(plugin.name);
      only = only === undefined ? prepared.only : only.intersection(prepared.only);
    }
    if (plugin.runs === 'preFilter only') continue;
    const { check, fork } = prepared;
    if (plugin.local) shared++;
    const { name, local, asked } = plugin;
    filters.push({ plugin: name, check, local, asked, ...(fork === undefined ? {} : { fork }) });
  }
  if (only?.size === 0) return { kind: 'rejected', rejection: nothingLeft(narrowedBy) };
  return { kind: 'ready', filters, shared, only, narrowedBy };
}

function preparedBy({ name, call, runs }: FilterPlugin, cycle: Cycle): PreFiltered {
  if (runs !== 'filter only') return call(cycle) ?? SKIP;
  throw new Error(`running "${name}" filter plugin: reading "PreFilter${name}" from cycleState: not found`);
}

function timedBy(timer: PluginTimer, plugin: FilterPlugin, cycle: Cycle): PreFiltered {
  const about = { plugin: plugin.name, point: 'PreFilter', statusOf: statusOfPreFiltered };
  const prepared = timer.run(about, () => preparedBy(plugin, cycle));
  if (prepared.kind !== 'check') return prepared;
  const eachNode = { plugin: plugin.name, point: 'Filter', statusOf: statusOfRejection };
  timer.few(eachNode, prepared.check, cycle.snapshot.nodes);
  return prepared;
}

function nothingLeft(plugins: readonly string[]): NodeRejection {
  const [only = ''] = plugins;
  const names = plugins.length === 1 ? ` ${only}` : `(s) [${plugins.join(' ')}] simultaneously`;
  return { plugin: plugins.at(-1) ?? '', reasons: [`node(s) didn't satisfy plugin${names}`], resolvable: false };
}
