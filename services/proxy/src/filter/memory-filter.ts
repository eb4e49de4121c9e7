import type { Chain, Family, SetShape, Table, TableChange } from '../ruleset/model.ts';
import { renderChange, renderTable } from '../ruleset/render.ts';
import type { PacketFilter } from './port.ts';

interface Mutable extends Table {
  readonly sets: Map<string, SetShape>;
  readonly elements: Map<string, Map<string, string>>;
  readonly chains: Map<string, Chain>;
}

/** Holds the tables in memory, and is as strict as the kernel about what exists. */
export class MemoryFilter implements PacketFilter {
  readonly tables = new Map<Family, Mutable>();
  /** The scripts that nft would get. */
  readonly scripts: string[] = [];
  resets = 0;
  /** The next calls fail with these errors. */
  readonly failures: Error[] = [];

  async apply(changes: readonly TableChange[]): Promise<void> {
    this.#failWhenAsked();
    const copies = new Map([...this.tables].map(([family, table]) => [family, copyOf(table)]));
    for (const change of changes) applyTo(needed(copies.get(change.family), `table ${change.family}`), change);
    for (const [family, table] of copies) this.tables.set(family, table);
    this.scripts.push(changes.map(renderChange).join(''));
  }

  async reset(tables: readonly Table[]): Promise<void> {
    this.#failWhenAsked();
    this.tables.clear();
    for (const table of tables) this.tables.set(table.family, copyOf(table));
    this.scripts.push(tables.map(renderTable).join(''));
    this.resets += 1;
  }

  async isIntact(): Promise<boolean> {
    return this.tables.size > 0;
  }

  async remove(): Promise<void> {
    this.tables.clear();
  }

  #failWhenAsked(): void {
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
  }
}

const copyOf = ({ family, sets, elements, chains }: Table): Mutable => ({
  family,
  sets: new Map(sets),
  elements: new Map([...elements].map(([name, members]) => [name, new Map(members)])),
  chains: new Map(chains),
});

function needed<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`no such file or directory: ${what}`);
  return value;
}

const refuse = (isRefused: boolean, what: string): void => {
  if (isRefused) throw new Error(`file exists or is busy: ${what}`);
};

/** Makes `change`. Throws where nft would. */
export function applyTo(table: Mutable, change: TableChange): void {
  for (const [name, shape] of change.addSets) {
    refuse(table.sets.has(name), name);
    table.sets.set(name, shape);
  }
  for (const [name, hook] of change.addChains) {
    refuse(table.chains.has(name), name);
    table.chains.set(name, { hook, rules: [] });
  }
  for (const { set, key } of change.removeElements) {
    if (table.elements.get(set)?.delete(key) !== true) throw new Error(`no element ${key} in ${set}`);
  }
  for (const { set, key, value } of change.addElements) addElement(table, { set, key, value });
  for (const [name, rules] of change.rules) {
    table.chains.set(name, { ...needed(table.chains.get(name), name), rules });
  }
  for (const name of change.removeChains) refuse(!table.chains.delete(name), name);
  for (const name of change.removeSets) {
    refuse(!table.sets.delete(name), name);
    table.elements.delete(name);
  }
}

function addElement(table: Mutable, { set, key, value }: { set: string; key: string; value: string }): void {
  needed(table.sets.get(set), set);
  const members = table.elements.get(set) ?? new Map<string, string>();
  refuse(members.has(key), `${set} ${key}`);
  table.elements.set(set, members.set(key, value));
  const chain = /^goto (.+)$/.exec(value)?.[1];
  if (chain !== undefined) needed(table.chains.get(chain), chain);
}
