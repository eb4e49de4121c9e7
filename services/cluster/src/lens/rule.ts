import type { Random } from '@holdfast/platform';
import type { Asked } from './asked.ts';

/** Which requests of the client a lens is about. Everything is optional. */
export interface RuleSettings {
  /** `list`, `watch`, `create`, ...; default: those of the kind. */
  readonly verbs?: readonly string[];
  /** Plural names: `pods`, `apps.example.com`, `pods/status`; default: all. */
  readonly resources?: readonly string[];
  readonly namespace?: string;
  /** A trailing `*` stands for any rest. */
  readonly name?: string;
  /** The first requests pass. */
  readonly skip?: number;
  /** Requests after that pass again; default: no limit. */
  readonly times?: number;
  /** From 0 to 1, drawn from the seed of the lens; default 1. */
  readonly probability?: number;
}

/** Says for each request whether it is meant, and counts. */
export class Rule {
  readonly #settings: RuleSettings;
  readonly #verbs: ReadonlySet<string> | undefined;
  readonly #random: Random;
  #seen = 0;
  #hits = 0;

  constructor(settings: RuleSettings, verbs: readonly string[] | undefined, random: Random) {
    this.#settings = settings;
    const wanted = settings.verbs ?? verbs;
    this.#verbs = wanted === undefined ? undefined : new Set(wanted);
    this.#random = random;
  }

  get hits(): number {
    return this.#hits;
  }

  /** Without counting. */
  selects({ info, name }: Asked): boolean {
    const { resources, namespace, name: wantedName } = this.#settings;
    if (this.#verbs !== undefined && !this.#verbs.has(info.verb)) return false;
    if (resources !== undefined && !resources.some((wanted) => isNamed(wanted, info))) return false;
    if (namespace !== undefined && info.namespace !== namespace) return false;
    return wantedName === undefined || isName(wantedName, name);
  }

  /** True when the lens acts on this request, which has to be selected. */
  takes(): boolean {
    const { skip = 0, times = Infinity, probability = 1 } = this.#settings;
    this.#seen += 1;
    if (this.#seen <= skip || this.#hits >= times) return false;
    if (probability < 1 && this.#random.float() >= probability) return false;
    this.#hits += 1;
    return true;
  }

  restart(): void {
    this.#seen = 0;
    this.#hits = 0;
  }
}

/** A trailing `*` stands for any rest. */
export const isName = (wanted: string, name: string): boolean =>
  wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted;

interface Named {
  readonly resource: string;
  readonly group: string;
  readonly subresource?: string;
}

/** `pods`, `pods/status`, `deployments.apps`, `deployments.apps/scale`. */
export function isNamed(wanted: string, { resource, group, subresource = '' }: Named): boolean {
  const [plural, sub = ''] = wanted.split('/', 2);
  if (sub !== subresource) return false;
  return plural === resource || plural === `${resource}.${group}`;
}
