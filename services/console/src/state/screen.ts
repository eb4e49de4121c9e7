import { type Cell, Grid, type Pen } from './grid.ts';

const ESC = '\x1b';
const PARAMETERS_MAX = 16;
/** A sequence that is longer is none. */
const SEQUENCE_CHARS_MAX = 128;

/** A terminal without a screen: what programs write becomes lines of cells. The common part of VT220 and xterm. */
export class Screen {
  #grid: Grid;
  /** Absent: the first screen is shown. */
  #first: Grid | undefined;
  #begun = '';
  #saved = { row: 0, column: 0 };
  /** What the program asks to be told, such as where the cursor is. */
  readonly #answer: (text: string) => void;
  isCursorShown = true;

  constructor(columns: number, rows: number, answer: (text: string) => void = () => {}) {
    this.#grid = new Grid(columns, rows);
    this.#answer = answer;
  }

  get lines(): readonly (readonly Cell[])[] {
    return this.#grid.lines;
  }

  get cursor(): { readonly row: number; readonly column: number } {
    return { row: this.#grid.row, column: Math.min(this.#grid.column, this.#grid.columns - 1) };
  }

  /** Text without colours, for tests and for who reads it by ear. */
  text(): string {
    return this.lines
      .map((line) =>
        line
          .map(({ char }) => char)
          .join('')
          .trimEnd(),
      )
      .join('\n')
      .trimEnd();
  }

  resize(columns: number, rows: number): void {
    this.#grid.resize(columns, rows);
    this.#first?.resize(columns, rows);
  }

  write(text: string): void {
    let rest = this.#begun + text;
    this.#begun = '';
    while (rest !== '') {
      const taken = rest.startsWith(ESC) ? this.#sequence(rest) : this.#plain(rest);
      if (taken === 0) {
        this.#begun = rest.length > SEQUENCE_CHARS_MAX ? '' : rest;
        return;
      }
      rest = rest.slice(taken);
    }
  }

  #plain(text: string): number {
    const end = text.indexOf(ESC);
    const plain = end < 0 ? text : text.slice(0, end);
    for (const char of plain) this.#put(char);
    return plain.length;
  }

  #put(char: string): void {
    const grid = this.#grid;
    if (char >= ' ' && char !== '\x7f') grid.put(char);
    else if (char === '\n' || char === '\v' || char === '\f') grid.feed();
    else if (char === '\r') grid.column = 0;
    else if (char === '\b') grid.moveTo(grid.row, Math.min(grid.column, grid.columns - 1) - 1);
    else if (char === '\t') grid.moveTo(grid.row, (Math.floor(grid.column / 8) + 1) * 8);
  }

  /** Returns how much of the text it was; 0: the rest comes later. */
  #sequence(text: string): number {
    const csi = CSI.exec(text);
    if (csi !== null) {
      this.#control(csi[1] ?? '', csi[2] ?? '', csi[3] ?? '');
      return csi[0].length;
    }
    const ignored = IGNORED.exec(text);
    if (ignored !== null) return ignored[0].length;
    if (BEGUN.test(text)) return 0;
    const [, letter = ''] = text;
    if (letter === '7') this.#save();
    else if (letter === '8') this.#restore();
    else if (letter === 'D') this.#grid.feed();
    else if (letter === 'E') this.#plain('\r\n');
    else if (letter === 'M') this.#grid.feedBack();
    else if (letter === 'c') this.#grid.reset();
    return 2;
  }

  #control(mark: string, parameters: string, letter: string): void {
    const numbers = parameters
      .split(/[;:]/)
      .slice(0, PARAMETERS_MAX)
      .map((each) => Number.parseInt(each, 10) || 0);
    if (mark === '?') return this.#mode(numbers, letter);
    if (mark !== '') return;
    if (letter === 'm') return this.#grid.paint(numbers);
    if (letter === 's') return this.#save();
    if (letter === 'u') return this.#restore();
    if (letter === 'n' && numbers[0] === 6) {
      return this.#answer(`${ESC}[${this.cursor.row + 1};${this.cursor.column + 1}R`);
    }
    MOVES.get(letter)?.(this.#grid, numbers);
  }

  #mode(numbers: readonly number[], letter: string): void {
    const isOn = letter === 'h';
    if (!isOn && letter !== 'l') return;
    for (const number of numbers) {
      if (number === 25) this.isCursorShown = isOn;
      if (number === 47 || number === 1047 || number === 1049) this.#second(isOn);
    }
  }

  /** Editors draw on a second screen, and leave the first as it was. */
  #second(isOn: boolean): void {
    if (isOn === (this.#first !== undefined)) return;
    const { columns, rows } = this.#grid;
    if (isOn) {
      this.#first = this.#grid;
      this.#grid = new Grid(columns, rows);
    } else if (this.#first !== undefined) {
      this.#grid = this.#first;
      this.#first = undefined;
    }
  }

  #save(): void {
    this.#saved = { row: this.#grid.row, column: this.#grid.column };
  }

  #restore(): void {
    this.#grid.moveTo(this.#saved.row, this.#saved.column);
  }
}

// Control characters are what these are about.
const CSI = new RegExp(`^${ESC}\\[([?>=!]?)([0-9;:]*)[ -/]*([@-~])`);
/** Titles and the like, up to a bell or ESC \; sets of characters. */
const IGNORED = new RegExp(`^${ESC}(?:[\\]PX^_][^\x07${ESC}]*(?:\x07|${ESC}\\\\)|[ #%()*+].)`);
const BEGUN = new RegExp(`^${ESC}(?:$|\\[[?>=!]?[0-9;:]*[ -/]*$|[\\]PX^_][^\x07${ESC}]*${ESC}?$|[ #%()*+]$)`);

type Move = (grid: Grid, numbers: readonly number[]) => void;

const first = (numbers: readonly number[]): number => Math.max(1, numbers[0] ?? 1);

const MOVES: ReadonlyMap<string, Move> = new Map<string, Move>([
  ['A', (grid, numbers) => grid.moveTo(grid.row - first(numbers), grid.column)],
  ['B', (grid, numbers) => grid.moveTo(grid.row + first(numbers), grid.column)],
  ['C', (grid, numbers) => grid.moveTo(grid.row, grid.column + first(numbers))],
  ['D', (grid, numbers) => grid.moveTo(grid.row, grid.column - first(numbers))],
  ['E', (grid, numbers) => grid.moveTo(grid.row + first(numbers), 0)],
  ['F', (grid, numbers) => grid.moveTo(grid.row - first(numbers), 0)],
  ['G', (grid, numbers) => grid.moveTo(grid.row, first(numbers) - 1)],
  ['d', (grid, numbers) => grid.moveTo(first(numbers) - 1, grid.column)],
  ['H', (grid, numbers) => grid.moveTo(first(numbers) - 1, Math.max(1, numbers[1] ?? 1) - 1)],
  ['f', (grid, numbers) => grid.moveTo(first(numbers) - 1, Math.max(1, numbers[1] ?? 1) - 1)],
  ['J', (grid, [how = 0]) => grid.eraseScreen(how)],
  ['K', (grid, [how = 0]) => grid.eraseLine(how)],
  ['X', (grid, numbers) => grid.erase(grid.row, grid.column, grid.column + first(numbers))],
  ['P', (grid, numbers) => grid.removeChars(first(numbers))],
  ['@', (grid, numbers) => grid.insertChars(first(numbers))],
  ['L', (grid, numbers) => grid.insertLines(first(numbers))],
  ['M', (grid, numbers) => grid.removeLines(first(numbers))],
  ['S', (grid, numbers) => grid.scroll(first(numbers))],
  ['T', (grid, numbers) => grid.scroll(-first(numbers))],
  ['r', (grid, [top = 1, bottom = 0]) => grid.setRegion(Math.max(1, top) - 1, bottom === 0 ? grid.rows : bottom)],
]);

export type { Cell, Pen };
