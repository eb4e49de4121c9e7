import type { Fragment, SharedElement } from './fragment.ts';
import { EMPTY_FRAGMENT } from './fragment.ts';
import type { Chain, Element, Family, Hook, Protocol, Rule, SetShape, Table, TableChange } from './model.ts';
import { targetsMap } from './render.ts';
import { SlotTable } from './slots.ts';

interface Claim {
  readonly unit: string;
  readonly value: string;
  readonly rank: number;
}

/**
 * The table of one family, as the sum of the fragments of all units. `replace` exchanges the fragments of some units and
 * returns the step between the tables; it looks at nothing of other units.
 */
export class Assembly {
  readonly #family: Family;
  readonly #fragments = new Map<string, Fragment>();
  readonly #sets = new Map<string, SetShape>();
  readonly #chains = new Map<string, Chain>();
  readonly #claims = new Map<string, Map<string, readonly Claim[]>>();
  readonly #elements = new Map<string, Map<string, string>>();
  readonly #slots = new SlotTable();

  constructor(family: Family) {
    this.#family = family;
  }

  units(): Iterable<string> {
    return this.#fragments.keys();
  }

  table(): Table {
    return { family: this.#family, sets: this.#sets, elements: this.#elements, chains: this.#chains };
  }

  fragment(unit: string): Fragment | undefined {
    return this.#fragments.get(unit);
  }

  /** Returns `undefined` when the table stays as it is. */
  replace(fragments: Iterable<readonly [unit: string, fragment: Fragment | undefined]>): TableChange | undefined {
    const step = new Step();
    for (const [unit, fragment] of fragments) this.#replaceOne(unit, fragment, step);
    return step.isEmpty() ? undefined : step.change(this.#family);
  }

  #replaceOne(unit: string, fragment: Fragment | undefined, step: Step): void {
    const before = this.#fragments.get(unit) ?? EMPTY_FRAGMENT;
    const after = fragment ?? EMPTY_FRAGMENT;
    if (fragment === undefined) this.#fragments.delete(unit);
    else this.#fragments.set(unit, fragment);
    const offsets = this.#placePools(before, after, step);
    this.#changeSets(before, after, step);
    this.#changeElements(unit, { before, after }, step);
    this.#changeChains(before, after, { step, offsets });
  }

  #placePools(before: Fragment, after: Fragment, step: Step): ReadonlyMap<string, Slots> {
    const offsets = new Map<string, Slots>();
    for (const name of new Set([...before.pools.keys(), ...after.pools.keys()])) {
      const pool = after.pools.get(name);
      const { protocol } = pool ?? before.pools.get(name) ?? { protocol: 'TCP' };
      const { map, offset, count, changes } = this.#slots.place(name, pool?.targets ?? []);
      offsets.set(name, { map: targetsMap(protocol, map), offset, count });
      for (const change of changes) {
        const set = this.#targetsMap(protocol, change.map, step);
        const [value, hadValue] = [change.target, change.hadTarget];
        this.#setElement({ set, key: `${change.slot}` }, { value, hadValue, step });
      }
    }
    return offsets;
  }

  /** The map is made when the first pool gets slots in it, and stays: the next pool will use it. */
  #targetsMap(protocol: Protocol, map: number, step: Step): string {
    const name = targetsMap(protocol, map);
    if (this.#sets.has(name)) return name;
    const shape = { kind: 'targets', protocol } as const;
    this.#sets.set(name, shape);
    step.addSets.push([name, shape]);
    return name;
  }

  #changeSets(before: Fragment, after: Fragment, step: Step): void {
    for (const [name, shape] of after.sets) {
      const old = this.#sets.get(name);
      if (old !== undefined && isSame(old, shape)) continue;
      // A set of another shape has another name: nft cannot change the shape of a set that rules read.
      if (old === undefined) step.addSets.push([name, shape]);
      this.#sets.set(name, shape);
    }
    for (const name of before.sets.keys()) {
      if (after.sets.has(name)) continue;
      this.#sets.delete(name);
      this.#elements.delete(name);
      this.#claims.delete(name);
      step.removeSets.push(name);
    }
  }

  #changeElements(unit: string, { before, after }: { before: Fragment; after: Fragment }, step: Step): void {
    for (const [id, each] of before.elements) {
      if (!after.elements.has(id)) this.#claim(unit, each, { isWanted: false, step });
    }
    for (const [id, each] of after.elements) {
      const old = before.elements.get(id);
      if (old?.value !== each.value || old.rank !== each.rank) this.#claim(unit, each, { isWanted: true, step });
    }
  }

  #claim(
    unit: string,
    { set, key, value, rank }: SharedElement,
    { isWanted, step }: { isWanted: boolean; step: Step },
  ): void {
    const claims = this.#claims.get(set) ?? new Map<string, readonly Claim[]>();
    const others = (claims.get(key) ?? []).filter((claim) => claim.unit !== unit);
    const all = isWanted ? [...others, { unit, value, rank }].toSorted(byRank) : others;
    if (all.length === 0) claims.delete(key);
    else claims.set(key, all);
    if (claims.size > 0 && this.#sets.has(set)) this.#claims.set(set, claims);
    const old = this.#elements.get(set)?.get(key);
    const now = all[0]?.value;
    if (old !== now) this.#setElement({ set, key }, { value: now, hadValue: old !== undefined, step });
  }

  #setElement(
    { set, key }: Pick<Element, 'set' | 'key'>,
    { value, hadValue, step }: { value: string | undefined; hadValue: boolean; step: Step },
  ): void {
    const members = this.#elements.get(set) ?? new Map<string, string>();
    // The elements of a set that ends go with it.
    if (!this.#sets.has(set)) return;
    this.#elements.set(set, members);
    if (hadValue) step.removeElement({ set, key, value: '' });
    if (value === undefined) members.delete(key);
    else {
      members.set(key, value);
      step.addElement({ set, key, value });
    }
  }

  #changeChains(
    before: Fragment,
    after: Fragment,
    { step, offsets }: { step: Step; offsets: ReadonlyMap<string, Slots> },
  ): void {
    for (const [name, { hook, rules }] of after.chains) {
      const placed = rules.map((rule) => withSlots(rule, offsets));
      const old = this.#chains.get(name);
      if (old === undefined) step.addChains.push([name, hook]);
      if (old === undefined ? placed.length > 0 : !isSame(old.rules, placed)) step.rules.push([name, placed]);
      this.#chains.set(name, { hook, rules: placed });
    }
    for (const name of before.chains.keys()) {
      if (after.chains.has(name)) continue;
      this.#chains.delete(name);
      step.removeChains.push(name);
    }
  }
}

interface Slots {
  readonly map: string;
  readonly offset: number;
  readonly count: number;
}

function withSlots({ matches, action }: Rule, offsets: ReadonlyMap<string, Slots>): Rule {
  if (action.kind !== 'balance') return { matches, action };
  const slots = offsets.get(action.pool) ?? { map: '', offset: 0, count: 0 };
  return { matches, action: { kind: 'slots', protocol: action.protocol, ...slots } };
}

const byRank = (a: Claim, b: Claim): number => a.rank - b.rank || (a.unit < b.unit ? -1 : 1);

/** Both were built by the same code, so their fields have the same order. */
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** A change while it is built. */
class Step {
  readonly addSets: (readonly [string, SetShape])[] = [];
  readonly addChains: (readonly [string, Hook | undefined])[] = [];
  readonly rules: (readonly [string, readonly Rule[]])[] = [];
  readonly removeChains: string[] = [];
  readonly removeSets: string[] = [];
  readonly #removed = new Map<string, Element>();
  readonly #added = new Map<string, Element>();

  addElement(element: Element): void {
    this.#added.set(`${element.set} ${element.key}`, element);
  }

  removeElement(element: Element): void {
    const id = `${element.set} ${element.key}`;
    // What this step itself added is not in the kernel.
    if (!this.#added.delete(id) || this.#removed.has(id)) this.#removed.set(id, element);
  }

  isEmpty(): boolean {
    const { addSets, addChains, rules, removeChains, removeSets } = this;
    const lists = [addSets, addChains, rules, removeChains, removeSets];
    return lists.every(({ length }) => length === 0) && this.#removed.size === 0 && this.#added.size === 0;
  }

  change(family: Family): TableChange {
    const { addSets, addChains, rules, removeChains, removeSets } = this;
    const removeElements = [...this.#removed.values()];
    const addElements = [...this.#added.values()];
    return { family, addSets, addChains, rules, removeChains, removeSets, removeElements, addElements };
  }
}
