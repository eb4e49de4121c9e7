import { duplicate, fieldErrorMessage, invalid, required } from '@holdfast/machinery';
import { type ChosenPlugin, noPoints, type PointChoice, type ProfileChoice } from '../framework/build-profile.ts';
import type { PluginDefinition } from '../framework/definition.ts';
import { EXTENSION_POINTS, type ExtensionPoint } from '../framework/plugin.ts';
import { outside } from '../plugins/args/decode-args.ts';
import { PLUGINS } from '../plugins/registry.ts';
import type { WirePlugin, WirePluginSet, WireProfile } from './wire.ts';

export interface ProfileOptions {
  /** Default of profiles without their own value. */
  readonly percentageOfNodesToScore: number;
  readonly disablePreemption: boolean;
  readonly errors: string[];
}

const ALL = '*';
const KNOWN: ReadonlyMap<string, PluginDefinition> = new Map(PLUGINS.map((each) => [each.name, each]));

/** Applies the profiles of the file to the default plugins. Adds mistakes to `errors`. */
export function chooseProfiles(profiles: readonly WireProfile[], options: ProfileOptions): readonly ProfileChoice[] {
  const choices = profiles.map((profile, i) => chooseProfile(profile, `profiles[${i}]`, options));
  const names = choices.map(({ schedulerName }) => schedulerName);
  for (const [i, { schedulerName, points }] of choices.entries()) {
    const path = `profiles[${i}]`;
    if (names.indexOf(schedulerName) !== i) {
      options.errors.push(fieldErrorMessage(duplicate(`${path}.schedulerName`, schedulerName)));
    }
    const sorts = points.queueSort.map(({ name }) => name);
    if (sorts.join() === choices[0]?.points.queueSort.map(({ name }) => name).join()) continue;
    options.errors.push(
      fieldErrorMessage(invalid(`${path}.plugins.queueSort`, sorts, 'queueSort must be the same for all profiles')),
    );
  }
  return choices;
}

function chooseProfile(profile: WireProfile, path: string, options: ProfileOptions): ProfileChoice {
  const { schedulerName = '', percentageOfNodesToScore = options.percentageOfNodesToScore } = profile;
  const { errors } = options;
  if (schedulerName === '') errors.push(fieldErrorMessage(required(`${path}.schedulerName`)));
  if (outside(percentageOfNodesToScore, [0, 100])) {
    const detail = 'not in valid range [0-100]';
    errors.push(fieldErrorMessage(invalid(`${path}.percentageOfNodesToScore`, percentageOfNodesToScore, detail)));
  }
  const points = choosePoints(profile, `${path}.plugins`, errors);
  if (options.disablePreemption)
    points.postFilter = points.postFilter.filter(({ name }) => name !== 'DefaultPreemption');
  for (const point of ['queueSort', 'bind'] as const) {
    if (points[point].length > 0 && (point === 'bind' || points[point].length === 1)) continue;
    errors.push(
      fieldErrorMessage(
        required(`${path}.plugins.${point}`, `${point === 'bind' ? 'at least' : 'exactly'} one plugin must be enabled`),
      ),
    );
  }
  return { schedulerName, percentageOfNodesToScore, points, plugins: configurePlugins(profile, path, errors) };
}

type Points = Record<ExtensionPoint, PointChoice[]>;

function choosePoints({ plugins = {} }: WireProfile, path: string, errors: string[]): Points {
  for (const [point, set] of Object.entries(plugins)) reportUnknown(set, { path: `${path}.${point}`, point, errors });
  const everywhere = mergeDefaults(plugins.multiPoint ?? {});
  const points = noPoints();
  for (const point of EXTENSION_POINTS) points[point] = atPoint(point, plugins[point] ?? {}, everywhere);
  return points;
}

/**
 * Applies `multiPoint` to the default plugins: removes the disabled ones, keeps named ones in their position with the
 * given weight (default 1), and appends the others.
 */
function mergeDefaults({ enabled = [], disabled = [] }: WirePluginSet): readonly PointChoice[] {
  const gone = namesOf(disabled);
  const own = new Map(enabled.map(({ name = '', weight = 0 }) => [name, { name, weight }] as const));
  const kept = PLUGINS.filter(({ name }) => !gone.has(ALL) && !gone.has(name)).map(({ name, weight = 0 }) => {
    const replaced = own.get(name);
    own.delete(name);
    return replaced ?? { name, weight };
  });
  return [...kept, ...own.values()];
}

/**
 * First the plugins that both name, in the order of the point; then the rest of `multiPoint`; then the rest of the
 * point.
 */
function atPoint(
  point: ExtensionPoint,
  { enabled = [], disabled = [] }: WirePluginSet,
  everywhere: readonly PointChoice[],
): PointChoice[] {
  const gone = namesOf(disabled);
  const inherited = everywhere.filter(({ name }) => KNOWN.get(name)?.points.includes(point) === true);
  const inheritedNames = new Set(inherited.map(({ name }) => name));
  const own = enabled.map(({ name = '', weight = 0 }) => ({ name, weight: weight === 0 ? 1 : weight }));
  const ownNames = new Set(own.map(({ name }) => name));
  return [
    ...own.filter(({ name }) => inheritedNames.has(name)),
    ...inherited
      .filter(({ name }) => !ownNames.has(name) && !gone.has(ALL) && !gone.has(name))
      .map(({ name, weight }) => ({ name, weight: weight === 0 ? 1 : weight })),
    ...own.filter(({ name }) => !inheritedNames.has(name)),
  ];
}

const namesOf = (plugins: readonly WirePlugin[]): ReadonlySet<string> => new Set(plugins.map(({ name = '' }) => name));

function reportUnknown(
  { enabled = [], disabled = [] }: WirePluginSet,
  { path, point, errors }: { readonly path: string; readonly point: string; readonly errors: string[] },
): void {
  for (const [i, { name = '' }] of enabled.entries()) {
    const at = `${path}.enabled[${i}].name`;
    const known = KNOWN.get(name);
    if (known === undefined) errors.push(fieldErrorMessage(invalid(at, name, 'there is no plugin of this name')));
    else if (point !== 'multiPoint' && !known.points.some((each) => each === point)) {
      errors.push(fieldErrorMessage(invalid(at, name, `the plugin does not extend ${point}`)));
    }
    if (enabled.findIndex((other) => other.name === name) !== i) errors.push(fieldErrorMessage(duplicate(at, name)));
  }
  for (const [i, { name = '' }] of disabled.entries()) {
    if (name === ALL || KNOWN.has(name)) continue;
    errors.push(fieldErrorMessage(invalid(`${path}.disabled[${i}].name`, name, 'there is no plugin of this name')));
  }
}

function configurePlugins(
  { pluginConfig = [] }: WireProfile,
  path: string,
  errors: string[],
): ReadonlyMap<string, ChosenPlugin> {
  const seen = new Set<string>();
  const chosen = new Map<string, ChosenPlugin>();
  for (const [i, { name = '', args = {} }] of pluginConfig.entries()) {
    const at = `${path}.pluginConfig[${i}]`;
    const definition = KNOWN.get(name);
    if (definition === undefined) {
      errors.push(fieldErrorMessage(invalid(`${at}.name`, name, 'there is no plugin of this name')));
    } else if (seen.has(name)) errors.push(fieldErrorMessage(duplicate(`${at}.name`, name)));
    else chosen.set(name, { definition, create: definition.configure({ args, path: `${at}.args`, errors }) });
    seen.add(name);
  }
  for (const definition of PLUGINS) {
    if (!chosen.has(definition.name)) {
      chosen.set(definition.name, { definition, create: definition.configure(undefined) });
    }
  }
  return chosen;
}
