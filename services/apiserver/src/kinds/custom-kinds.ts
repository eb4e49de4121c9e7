import {
  allResources,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  customKinds,
  type DefinitionSummary,
  findResource,
  type ResourceDefinition,
  type RuleEngine,
  summaryOf,
} from '@holdfast/api';
import { describeError, type Log } from '@holdfast/platform';
import type { CachedObject } from '../cache/cached-object.ts';
import type { ObjectFeed } from '../cache/watch-cache.ts';

/** Such a kind has its own objects in the place where those of a definition of the same name would be. */
export const isBuiltIn = (group: string, plural: string): boolean =>
  allResources().some((each) => each.group === group && each.plural === plural);

/** One served definition with its kind in each version. */
export interface CustomDefinition {
  readonly summary: DefinitionSummary;
  readonly versions: ReadonlyMap<string, ResourceDefinition>;
  /** The definition in the cache. */
  readonly latest: { object: CachedObject };
}

/** Every kind that is served: those of this build, and those that definitions add and take away. */
export interface Kinds {
  find(group: string, version: string, plural: string): ResourceDefinition | undefined;
  /** For any version: all share one place in the store. */
  anyVersion(group: string, plural: string): ResourceDefinition | undefined;
  /** By name. */
  definitions(): readonly CustomDefinition[];
  /** Grows with every definition that comes, changes or goes. */
  readonly generation: number;
}

export interface CustomKindsDeps {
  readonly rules: RuleEngine;
  readonly log: Log;
  /** Called when objects of a kind are read in another way from now on, or no more. */
  readonly onChange: (group: string, plural: string) => void;
  /** Called for every change of a definition, even if it is not served yet. */
  readonly onDefinition: (name: string) => void;
}

/**
 * The registry of custom kinds. The watch cache passes definitions to it in the same turn in which it stores them, so a
 * caller that has waited for a revision sees the kinds of that revision. A change of a definition affects only its own
 * kind, and nothing is compiled before first use.
 */
export class CustomKinds implements Kinds, ObjectFeed {
  readonly group = CUSTOM_RESOURCE_DEFINITIONS.group;
  readonly resource = CUSTOM_RESOURCE_DEFINITIONS.plural;
  readonly #deps: CustomKindsDeps;
  readonly #byName = new Map<string, CustomDefinition>();
  /** By plural, then by group: a lookup composes no string. */
  readonly #byPlural = new Map<string, Map<string, CustomDefinition>>();
  #ordered: readonly CustomDefinition[] | undefined;
  #generation = 0;

  constructor(deps: CustomKindsDeps) {
    this.#deps = deps;
  }

  get generation(): number {
    return this.#generation;
  }

  find(group: string, version: string, plural: string): ResourceDefinition | undefined {
    const built = findResource(group, version, plural);
    if (built !== undefined) return built;
    const found = this.#byPlural.get(plural)?.get(group)?.versions.get(version);
    return found?.custom?.served === true ? found : undefined;
  }

  anyVersion(group: string, plural: string): ResourceDefinition | undefined {
    const [custom] = this.#byPlural.get(plural)?.get(group)?.versions.values() ?? [];
    return custom ?? allResources().find((each) => each.group === group && each.plural === plural);
  }

  definitions(): readonly CustomDefinition[] {
    this.#ordered ??= [...this.#byName.values()].sort((a, b) => (a.summary.name < b.summary.name ? -1 : 1));
    return this.#ordered;
  }

  reset(): void {
    for (const name of this.#byName.keys()) this.#remove(name);
  }

  put(object: CachedObject): void {
    this.#deps.onDefinition(object.name);
    const summary = this.#read(object);
    if (summary === undefined) {
      this.#remove(object.name);
      return;
    }
    const known = this.#byName.get(object.name);
    if (known !== undefined && isSame(known.summary, summary)) {
      known.latest.object = object;
      return;
    }
    const latest = { object };
    const read = (): CustomResourceDefinition => latest.object.mutableCopy() as CustomResourceDefinition;
    this.#remove(object.name);
    const versions = customKinds({ summary, read, rules: this.#deps.rules });
    this.#add({ summary, versions, latest });
    this.#deps.onChange(summary.group, summary.names.plural);
  }

  remove(object: CachedObject): void {
    this.#deps.onDefinition(object.name);
    this.#remove(object.name);
  }

  /** An unreadable definition serves nothing and does not affect others. */
  #read(object: CachedObject): DefinitionSummary | undefined {
    try {
      const crd = object.mutableCopy() as CustomResourceDefinition;
      return isBuiltIn(crd.spec.group, crd.spec.names.plural) ? undefined : summaryOf(crd);
    } catch (error) {
      this.#deps.log.warn('a definition cannot be read', { definition: object.name, error: describeError(error) });
      return undefined;
    }
  }

  #add(definition: CustomDefinition): void {
    const { group, names, name } = definition.summary;
    this.#byName.set(name, definition);
    const sameName = this.#byPlural.get(names.plural) ?? new Map<string, CustomDefinition>();
    this.#byPlural.set(names.plural, sameName.set(group, definition));
    this.#changed();
  }

  #remove(name: string): void {
    const known = this.#byName.get(name);
    if (known === undefined) return;
    const { group, names } = known.summary;
    this.#byName.delete(name);
    const sameName = this.#byPlural.get(names.plural);
    sameName?.delete(group);
    if (sameName?.size === 0) this.#byPlural.delete(names.plural);
    this.#changed();
    this.#deps.onChange(group, names.plural);
  }

  #changed(): void {
    this.#ordered = undefined;
    this.#generation += 1;
  }
}

/** A change of the status or of labels changes nothing of the kind. */
const isSame = (a: DefinitionSummary, b: DefinitionSummary): boolean => JSON.stringify(a) === JSON.stringify(b);
