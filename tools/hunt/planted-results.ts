import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { PLANTED_BUGS } from '../../test/sim/hunt/planted.mjs';
import { type Hunted, type PlantedRow, renderPlanted } from './planted-table.ts';

export interface ResultFiles {
  readonly results: string;
  readonly table: string;
}

/** What the hunts for planted bugs have found so far, in two files: one to go on from, and the table of it. */
export class PlantedResults {
  readonly #files: ResultFiles;

  constructor(files: ResultFiles) {
    this.#files = files;
  }

  of(name: string, from: number): Hunted | undefined {
    return this.#rows()
      .find((row) => row.name === name)
      ?.hunts.find((hunt) => hunt.from === from && hunt.world === undefined);
  }

  /** The next hunts for these bugs begin anew; each row stays until a new result takes its place. */
  forget(names: readonly string[]): void {
    const rows = this.#rows().map((row) => {
      if (!names.includes(row.name)) return row;
      return { ...row, hunts: row.hunts.map((hunt): Hunted => ({ ...hunt, world: 'older' })) };
    });
    this.#write(rows);
  }

  keep(name: string, hunted: Hunted): void {
    const rows = this.#rows();
    const { hunts = [] } = rows.find((row) => row.name === name) ?? {};
    const others = hunts.filter(({ from, world }) => from !== hunted.from && world === undefined);
    const row = { name, hunts: [...others, hunted].toSorted((a, b) => a.from - b.from) };
    this.#write([...rows.filter((each) => each.name !== name), row]);
  }

  #rows(): readonly PlantedRow[] {
    const { results } = this.#files;
    return existsSync(results) ? (JSON.parse(readFileSync(results, 'utf8')) as PlantedRow[]) : [];
  }

  /** A bug that is no longer planted is left out. */
  #write(rows: readonly PlantedRow[]): void {
    const { results, table } = this.#files;
    const known = PLANTED_BUGS.flatMap(({ name }) => rows.find((row) => row.name === name) ?? []);
    writeFileSync(results, `${JSON.stringify(known, null, 2)}\n`);
    const harms = new Map(PLANTED_BUGS.map(({ name, harm }) => [name, harm]));
    writeFileSync(table, renderPlanted(known, harms));
  }
}
